#include "launch_files.hpp"

#include <doctest/doctest.h>

using namespace mirfak;

namespace {

ImportDraft command(const std::vector<ImportFile>& files, std::optional<std::int64_t> gpus = {}) {
  ImportContext context{import_sources()};
  context.gpus = gpus;
  return import_format("launch-command").read(files, context);
}

std::size_t unknown_lines(const ImportDraft& draft) {
  std::size_t out = 0;
  for (const ImportLine& line : draft.lines()) {
    if (line.verdict == Verdict::unknown) MESSAGE(line.text, ": ", line.reason);
    if (line.verdict == Verdict::unknown) ++out;
  }
  return out;
}

}  // namespace

TEST_CASE("torchtitan without TOML: a module, a configuration and options of sections") {
  const ImportFile file{"launch.txt",
                        "torchrun --nnodes 4 --nproc_per_node 8 -m torchtitan.train --module llama3 \\\n"
                        "  --config llama3_70b --training.local_batch_size 2 --compile.enable \\\n"
                        "  --parallelism.context_parallel_degree=2 --optimizer.lr 1e-4\n"};
  CHECK(formats_of(file) == std::vector<std::string>{"launch-command"});
  const ImportDraft draft = command({file});
  CHECK(unknown_lines(draft) == 0);
  CHECK(said(draft, "model") == "llama3-70b");
  CHECK(said(draft, "strategy.tensor") == "8");
  CHECK(said(draft, "strategy.micro_batch") == "2");
  CHECK(said(draft, "strategy.context") == "2");
  CHECK(said(draft, "strategy.data") == "2");
  CHECK(said(draft, "training.framework") == "torchtitan");
  CHECK(draft.machine.gpus() == 32);
  CHECK(draft.scenario().find("strategy")->find("micro_batch")->where.text() == "launch.txt:2:23");
  CHECK(scenario_of(draft, "hgx-h100", 4).job.strategy.ranks() == 32);
}

TEST_CASE("torchtitan with TOML: options count over the file") {
  const ImportFile toml{
      "train_configs/8b.toml",
      "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nlocal_batch_size = 4\nseq_len = 8192\n"};
  const ImportFile file{"launch.txt",
                        "torchrun --nproc_per_node=8 -m torchtitan.train --job.config_file ./8b.toml "
                        "--training.local_batch_size 1 --activation_checkpoint.mode none"};
  const ImportDraft draft = command({file, toml});
  CHECK(unknown_lines(draft) == 0);
  CHECK(said(draft, "strategy.micro_batch") == "1");
  CHECK(said(draft, "training.sequence_length") == "8192");
  CHECK(said(draft, "training.global_batch") == "8");
  CHECK_THROWS_AS(command({file}), Error);
}

TEST_CASE("a script with the Trainer's options") {
  const ImportFile file{"launch.txt",
                        "torchrun --nproc_per_node 8 sft.py --model_name_or_path Qwen/Qwen3-8B --output_dir out "
                        "--per_device_train_batch_size 2 --gradient_accumulation_steps 8 --gradient_checkpointing "
                        "--bf16 True --fsdp \"full_shard auto_wrap\" --max_length 4096 --learning_rate 1e-5"};
  CHECK(formats_of(file) == std::vector<std::string>{"launch-command"});
  const ImportDraft draft = command({file});
  CHECK(unknown_lines(draft) == 0);
  CHECK(said(draft, "model") == "qwen3-8b");
  CHECK(said(draft, "strategy.zero") == "3");
  CHECK(said(draft, "training.global_batch") == "128");
  CHECK(said(draft, "strategy.recompute") == "full");
}

TEST_CASE("a script that starts torchtitan is read as its command is") {
  const ImportFile file{"run.sh",
                        "#!/bin/bash\nNGPU=8\ntorchrun --nproc_per_node=$NGPU -m torchtitan.train --module llama3 "
                        "--config llama3_8b --training.local_batch_size 2\n"};
  CHECK(formats_of(file) == std::vector<std::string>{"launch-script"});
  const ImportContext context{import_sources()};
  const ImportDraft draft = import_format("launch-script").read(std::span(&file, 1), context);
  CHECK(unknown_lines(draft) == 0);
  CHECK(said(draft, "model") == "llama3-8b");
  CHECK(said(draft, "training.global_batch") == "16");
  CHECK(draft.machine.gpus() == 8);
}

TEST_CASE("names of configurations that are not known are refused at their place") {
  const ImportFile file{"launch.txt", "torchrun -m torchtitan.train --module llama3 --config llama3_9b"};
  try {
    command({file}, 8);
    CHECK(false);
  } catch (const Error& error) {
    CHECK(error.where().text() == "launch.txt:1:55");
    CHECK(error.hint() == "did you mean 'llama3_8b'?");
  }
}
