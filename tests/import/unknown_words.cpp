// A word that is no option is never dropped: one that is like an option that counts is an obstacle, the rest is noted
// in the scenario, so that every command says it.

#include "import/imported_job.hpp"
#include "import/misspelt_words.hpp"
#include "launch_files.hpp"
#include "scenario/idle_keys.hpp"
#include "scenario/stated_notes.hpp"
#include "simulation/iteration.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

namespace unknown_words_test {

using namespace mirfak;

namespace {

ImportedJob read(const std::string& name, const std::string& text, const std::vector<ImportFile>& beside = {}) {
  std::vector<ImportFile> files = {{name, text}};
  files.insert(files.end(), beside.begin(), beside.end());
  ImportRequest request;
  request.nodes.push_back(node_choice("hgx-h100:1"));
  return import_job(files, request, ImportContext{import_sources()});
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

constexpr const char* kMegatron =
    "--num-layers 8 --hidden-size 1024 --num-attention-heads 16 --seq-length 1024 --max-position-embeddings 1024 "
    "--micro-batch-size 1 --global-batch-size 8 --bf16 --lr 1e-4 --train-iters 10";

}  // namespace

TEST_CASE("words are like names by their letters, or by their words") {
  CHECK(likeness("--tensor-model-paralel-size", "--tensor-model-parallel-size") == Likeness::same_letters);
  CHECK(likeness("--micro-bacth-size", "--micro-batch-size") == Likeness::same_letters);
  CHECK(likeness("--tensor-parallel-size", "--tensor-model-parallel-size") == Likeness::same_words);
  CHECK(likeness("max_seq_len", "max_seq_length") == Likeness::same_words);
  CHECK(likeness("model.hiden_size", "model.hidden_size") == Likeness::same_letters);
  CHECK(likeness("trainer.hidden_size", "model.hidden_size") == Likeness::none);
  CHECK(likeness("load_in_4bit", "load_in_8bit") == Likeness::none);
  CHECK(likeness("--num-layers", "--num-experts") == Likeness::none);
  CHECK(likeness("tp", "pp") == Likeness::none);
  CHECK(likeness("parallelism_config_sp_size", "parallelism_config_cp_size") == Likeness::none);
  CHECK(likeness("--save-interval", "--eval-interval") == Likeness::none);
}

TEST_CASE("a misspelt option is an obstacle that comes first, with the one that was meant") {
  struct Slip {
    const char* word;
    const char* meant;
  };
  for (const Slip& slip : {Slip{"--tensor-model-paralel-size 8", "--tensor-model-parallel-size"},
                           Slip{"--tensor-parallel-size 8", "--tensor-model-parallel-size"},
                           Slip{"--use-distributed-optimzer", "--use-distributed-optimizer"},
                           Slip{"--recompute-activation", "--recompute-activations"}}) {
    CAPTURE(slip.word);
    const std::string why = first_obstacle(read("args.txt", fmt::format("{} {}", kMegatron, slip.word)));
    CHECK(has(why, "not an option that mirfak knows"));
    CHECK(has(why, slip.meant));
  }
  CHECK(has(first_obstacle(read("sft.yaml",
                                "model_name_or_path: meta-llama/Llama-3.1-8B\n"
                                "per_device_train_batchsize: 4\nper_device_train_batch_size: 1\n")),
            "per_device_train_batch_size"));
  CHECK(has(first_obstacle(read("accelerate.sh",
                                "#!/bin/bash\naccelerate launch --use_deepspeed --zero_stge 3 train.py "
                                "--model_name_or_path meta-llama/Llama-3.1-8B "
                                "--per_device_train_batch_size 1\n")),
            "zero_stage"));
}

TEST_CASE("other words are noted in the scenario, and stay there when it is written and read") {
  const ImportedJob job = read("args.txt", std::string(kMegatron) + " --our-own-trick 3 --use-tp-pp-dp-mapping");
  CHECK(job.complete);
  const std::vector<std::string> notes = stated_notes(job.scenario);
  const auto noted = [&](std::string_view word) {
    return std::any_of(notes.begin(), notes.end(), [&](const std::string& note) { return has(note, word); });
  };
  CHECK(noted("--our-own-trick 3: not an option that mirfak knows"));
  const Document written = Document::from_text(imported_yaml(job), "out.yaml");
  CHECK(stated_notes(written) == notes);
  const Scenario scenario = parse_scenario(written, import_sources());
  CHECK(stated_notes(Document::from_text(scenario.resolved, "again.yaml")) == notes);
  const std::vector<std::string> of_reports = notes_on_keys(scenario, import_sources(), simulate(scenario.job).result);
  REQUIRE(of_reports.size() >= notes.size());
  CHECK(std::equal(notes.begin(), notes.end(), of_reports.begin()));
  CHECK_THROWS_AS(parse_scenario(Document::from_text(scenario.resolved + "notes: 3\n", "x.yaml"), import_sources()),
                  Error);
}

TEST_CASE("options of a script of its own are noted, not refused, where they are like a name without effect") {
  const std::string trainer =
      "#!/bin/bash\naccelerate launch train.py --model_name_or_path meta-llama/Llama-3.1-8B --output_dir out "
      "--per_device_train_batch_size 1 --bf16 True ";
  CHECK(read("run.sh", trainer + "--train_files x.json\n").complete);
  CHECK_FALSE(read("run.sh", trainer + "--gradient_checkpoint True\n").complete);
}

// Two nodes of 4 GPUs, however it is said.
TEST_CASE("launchers say nodes and GPUs in ways of their own") {
  const std::string program = " pretrain_gpt.py " + std::string(kMegatron) + "\n";
  const ImportFile hosts{"hosts.txt", "worker-0 slots=4\n# none\nworker-1 slots=4\n"};
  for (const char* launcher : {"torchrun --nnodes 2 --nproc-per-node 4", "torchrun --nnodes=2 --nproc_per_node=4",
                               "deepspeed --num_nodes 2 --num_gpus 4", "deepspeed --hostfile hosts.txt",
                               "deepspeed --include worker-0:0,1,2,3@worker-1:0,1,2,3", "mpirun -np 8 -N 4 python",
                               "mpirun -np 8 --map-by ppr:4:node python", "srun -n 8 --ntasks-per-node=4 python",
                               "srun -N 2 --ntasks-per-node 4 python"}) {
    CAPTURE(launcher);
    const ImportedJob job = read("run.sh", fmt::format("#!/bin/bash\n{}{}", launcher, program), {hosts});
    CHECK(job.draft.machine.nodes == 2);
    CHECK(job.draft.machine.gpus_per_node == 4);
  }
}

TEST_CASE("options of accelerate launch count, before what its file says") {
  const ImportFile file{"zero3.yaml",
                        "compute_environment: LOCAL_MACHINE\ndistributed_type: DEEPSPEED\n"
                        "deepspeed_config: {zero_stage: 3, gradient_accumulation_steps: 1}\nmixed_precision: bf16\n"
                        "num_machines: 1\nnum_processes: 8\n"};
  const std::string behind =
      " train.py --model_name_or_path meta-llama/Llama-3.1-8B --per_device_train_batch_size 1 --bf16\n";
  const auto zero = [&](const std::string& options, const std::vector<ImportFile>& beside) {
    return said(read("run.sh", "#!/bin/bash\naccelerate launch " + options + behind, beside).draft, "strategy.zero");
  };
  CHECK(zero("--config_file zero3.yaml", {file}) == "3");
  CHECK(zero("--config_file zero3.yaml --zero_stage 2", {file}) == "2");
  CHECK(zero("--use_deepspeed --zero_stage 1 --num_processes 8", {}) == "1");
  CHECK(zero("--use_deepspeed", {}) == "2");
  CHECK(zero("--use_fsdp --fsdp_sharding_strategy SHARD_GRAD_OP", {}) == "2");
  CHECK(zero("--use_fsdp", {}) == "3");
  CHECK(zero("--multi_gpu", {}) == "0");
  CHECK_THROWS_AS(zero("--config_file elsewhere.yaml", {}), Error);
}

TEST_CASE("a word that is read as a number is one, all of it") {
  const auto window = [](const std::string& words) {
    const ImportedJob job = read("args.txt", std::string(kMegatron) + " --window-size " + words);
    return said(job.draft, "model.sliding_window.tokens");
  };
  CHECK(window("127,0") == "128");
  CHECK(window("(127,0)") == "128");
  CHECK(window("-1,0").empty());  // no window
  for (const char* words : {"1e3,0", "127,5", "x,0", "127,0,0", "-2,0"}) {
    CAPTURE(words);
    CHECK_THROWS_AS(window(words), Error);
  }
  CHECK_THROWS_AS(read("args.txt", std::string(kMegatron) + " --ffn-hidden-size 4096 8"), Error);
  CHECK_THROWS_AS(read("run.sh", std::string("#!/bin/bash\ntorchrun --nproc_per_node 8x pretrain_gpt.py ") + kMegatron),
                  Error);
  const std::string test = "MODEL_ARGS:\n  --num-layers: 2\n  trainer.devices: ";
  CHECK_THROWS_AS(read("case.yaml", test + "8x\n"), Error);
}

TEST_CASE("ranks in another order are numbered so where that matters") {
  const auto order = [](const std::string& more) {
    const ImportedJob job = read("args.txt", std::string(kMegatron) + " --use-tp-pp-dp-mapping" + more);
    CHECK(job.complete);
    for (const ImportLine& line : job.draft.lines()) {
      if (line.text == "--use-tp-pp-dp-mapping") CHECK(line.verdict != Verdict::unknown);
    }
    return said(job.draft, "strategy.rank_order");
  };
  CHECK(order("").empty());  // one stage
  CHECK(order(" --pipeline-model-parallel-size 2") == "tp-cp-ep-pp-dp");
}

TEST_CASE("kernels of attention that the Trainer is told are those of the prediction") {
  const auto framework = [](const std::string& kernels) {
    const ImportedJob job = read("sft.yaml",
                                 "model_name_or_path: meta-llama/Llama-3.1-8B\nbf16: true\n"
                                 "per_device_train_batch_size: 1\nattn_implementation: " +
                                     kernels + "\n");
    return said(job.draft, "training.framework");
  };
  CHECK(has(framework("eager"), "attention: []"));
  CHECK(has(framework("sdpa"), "attention: [flash-2]"));
  CHECK(has(framework("flash_attention_3"), "attention: [flash-3, flash-2]"));
}

}  // namespace unknown_words_test
