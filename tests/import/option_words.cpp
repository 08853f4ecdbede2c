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
  const Job job = scenario_of(draft, "hgx-h100", 4).job;
  CHECK(job.strategy.ranks() == 32);
  CHECK(job.training.loss_chunks == 8);
}

// ChunkedLossWrapper of all named configurations: 8 chunks unless an option says otherwise, one is the whole; blocks
// that are not compiled have it too.
TEST_CASE("torchtitan's named configurations compute the loss in chunks") {
  const auto chunks = [](const std::string& options) {
    const ImportDraft draft =
        command({{"launch.txt",
                  "torchrun --nproc_per_node 8 -m torchtitan.train --module llama3 --config llama3_8b " + options}});
    CHECK(unknown_lines(draft) == 0);
    return scenario_of(draft, "hgx-h100", 1).job.training.loss_chunks;
  };
  CHECK(chunks("") == 8);
  CHECK(chunks("--loss.num_chunks 4 --compile.enable") == 4);
  CHECK(chunks("--loss.num_chunks 1") == 0);
  CHECK_THROWS_AS(chunks("--loss.num_chunks 0"), Error);
  CHECK_THROWS_AS(chunks("--loss.num_chunks 3"), Error);  // of 8192 tokens
}

TEST_CASE("torchtitan: buffers of FSDP in symmetric memory, of compiled blocks and others") {
  const auto read = [](const std::string& options) {
    const ImportDraft draft =
        command({{"launch.txt",
                  "torchrun --nproc_per_node 8 -m torchtitan.train --module llama3 --config llama3_8b " + options}});
    return scenario_of(draft, "hgx-h100", 1).job;
  };
  CHECK(read("--parallelism.enable_fsdp_symm_mem").strategy.registered_buffers);
  CHECK(read("--parallelism.enable_fsdp_symm_mem --compile.enable").training.framework == "torchtitan");
  CHECK(!read("").strategy.registered_buffers);
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

TEST_CASE("Megatron-LM's levels of context ranks: the first divides heads, and the product is all of them") {
  const auto read = [](const std::string& levels) {
    const std::vector<ImportFile> files = {
        {"launch.sh",
         "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 4 --hidden-size 1024 "
         "--num-attention-heads 16 --seq-length 4096 --max-position-embeddings 4096 "
         "--global-batch-size 8 --micro-batch-size 1 --vocab-size 32000 "
         "--context-parallel-size 8 --cp-comm-type a2a+p2p " +
             levels}};
    return import_format("launch-script").read(files, ImportContext{import_sources()});
  };
  const ImportDraft two = read("--hierarchical-context-parallel-sizes 2 4");
  CHECK(said(two, "strategy.context_heads") == "2");
  CHECK(said(two, "strategy.context_communication") == "p2p");
  CHECK(two.obstacles().empty());
  CHECK(said(read("--hierarchical-context-parallel-sizes 8 1"), "strategy.context_communication") == "a2a");
  CHECK(said(read("--hierarchical-context-parallel-sizes 1 8"), "strategy.context_heads").empty());
  CHECK(read("--hierarchical-context-parallel-sizes 2 2").obstacles().size() == 1);
  CHECK(read("").obstacles().size() == 1);
}

TEST_CASE("documents on ranks of their own are read, and that their lengths are not there is told") {
  const auto read = [](const std::string& more) {
    const std::vector<ImportFile> files = {
        {"launch.sh",
         "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 4 --hidden-size 1024 "
         "--num-attention-heads 16 --seq-length 4096 --max-position-embeddings 4096 "
         "--global-batch-size 8 --micro-batch-size 1 --vocab-size 32000 --max-seqlen-per-dp-cp-rank 1024 " +
             more}};
    return import_format("launch-script").read(files, ImportContext{import_sources()});
  };
  const ImportDraft spread = read("--hybrid-context-parallel --calculate-per-token-loss");
  CHECK(said(spread, "strategy.context_tokens") == "1024");
  const std::vector<ImportLine> lines = spread.lines();
  CHECK(std::any_of(lines.begin(), lines.end(), [](const ImportLine& line) {
    return line.left_out && line.reason.find("training.document_lengths") != std::string::npos;
  }));
  CHECK(said(read(""), "strategy.context_tokens").empty());
}

TEST_CASE("Megatron-LM's shards of weights are read, and those of experts where there are any") {
  const auto read = [](const std::string& more) {
    const std::vector<ImportFile> files = {
        {"launch.sh",
         "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 4 --hidden-size 1024 "
         "--num-attention-heads 16 --seq-length 4096 --max-position-embeddings 4096 --tensor-model-parallel-size 2 "
         "--global-batch-size 8 --micro-batch-size 1 --vocab-size 32000 --bf16 --use-distributed-optimizer "
         "--tensor-parallel-num-weight-shards 8 --expert-tensor-parallel-num-weight-shards 4 " +
             more}};
    return import_format("launch-script").read(files, ImportContext{import_sources()});
  };
  CHECK(said(read(""), "strategy.weight_shards") == "8");
  CHECK(said(read(""), "strategy.expert_weight_shards").empty());
  const ImportDraft experts = read("--num-experts 8 --expert-model-parallel-size 2");
  CHECK(said(experts, "strategy.weight_shards") == "8");
  CHECK(said(experts, "strategy.expert_weight_shards") == "4");
}

TEST_CASE("Megatron-LM's rooms and pages of experts are read, pages by the program's default where no factor is said") {
  const auto read = [](const std::string& more) {
    const std::vector<ImportFile> files = {
        {"launch.sh",
         "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 4 --hidden-size 1024 "
         "--num-attention-heads 16 --seq-length 4096 --max-position-embeddings 4096 --global-batch-size 8 "
         "--micro-batch-size 1 --vocab-size 32000 --bf16 --use-distributed-optimizer "
         "--moe-expert-rank-capacity-factor 1.5 " +
             more}};
    return import_format("launch-script").read(files, ImportContext{import_sources()});
  };
  const std::string experts =
      "--num-experts 8 --expert-model-parallel-size 4 --moe-token-dispatcher-type flex "
      "--moe-flex-dispatcher-backend hybridep ";
  const ImportDraft room = read(experts);
  CHECK(said(room, "strategy.expert_rank_capacity") == "1.5");
  CHECK(said(room, "strategy.expert_stash").empty());
  CHECK(said(read(experts + "--moe-paged-stash"), "strategy.expert_stash") == "1.1");
  const ImportDraft both = read(experts +
                                "--moe-paged-stash --moe-paged-stash-buffer-size-factor-cuda 0.75 "
                                "--moe-paged-stash-buffer-size-factor-cpu 0.5");
  CHECK(said(both, "strategy.expert_stash") == "0.75");
  CHECK(said(both, "strategy.expert_stash_host") == "0.5");
  const ImportDraft without = read(experts + "--moe-paged-stash-buffer-size-factor-cuda 1.2");
  CHECK(said(without, "strategy.expert_stash").empty());
  CHECK(said(read("--moe-paged-stash"), "strategy.expert_rank_capacity").empty());
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

TEST_CASE("TRL's supervised tuning recomputes and takes bf16 unless told otherwise, a script of one's own does not") {
  const std::string options = " --model_name_or_path Qwen/Qwen3-8B --per_device_train_batch_size 2 --max_length 4096";
  const auto read = [&](const std::string& program, const std::string& more) {
    return command({{"launch.txt", "accelerate launch --num_processes 8 " + program + options + more}});
  };
  const ImportDraft tuning = read("sft.py", "");
  CHECK(said(tuning, "strategy.recompute") == "full");
  CHECK(said(tuning, "training.precision") == "bf16");
  CHECK(tuning.origins().at("strategy.recompute").find("since TRL v0.22") != std::string::npos);
  const ImportDraft half = read("sft.py", " --fp16 --gradient_checkpointing False");
  CHECK(said(half, "strategy.recompute") == "none");
  CHECK(said(half, "training.precision") == "fp16");
  const ImportDraft own = read("train.py", "");
  CHECK(said(own, "strategy.recompute") == "none");
  CHECK(said(own, "training.precision") == "fp32");
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

TEST_CASE("Megatron-Bridge's run_recipe.py: a recipe, overrides and their short forms") {
  const ImportFile file{
      "run.sh",
      "#!/bin/bash\ntorchrun --nproc-per-node=8 scripts/training/run_recipe.py "
      "--recipe llama3_8b_pretrain_config --mode pretrain -tp 2 -pp 1 --context_parallel_size=2 -gb 64 "
      "-mb 1 -sl 4096 model.sequence_parallel=true model.recompute_granularity=selective "
      "'model.recompute_modules=[core_attn,mlp]' ddp.use_distributed_optimizer=true "
      "ddp.overlap_grad_reduce=true mixed_precision=bf16_mixed\n"};
  const ImportContext context{import_sources()};
  const ImportDraft draft = import_format("launch-script").read(std::span(&file, 1), context);
  CHECK(unknown_lines(draft) == 0);
  CHECK(draft.obstacles().empty());
  CHECK(said(draft, "model") == "llama3-8b");
  CHECK(said(draft, "strategy.tensor") == "2");
  CHECK(said(draft, "strategy.context") == "2");
  CHECK(said(draft, "strategy.recompute_modules") == "[core_attn, mlp]");
  CHECK(said(draft, "strategy.zero") == "1");
  CHECK(said(draft, "training.global_batch") == "64");
  CHECK(said(draft, "training.precision") == "bf16");
  CHECK(draft.machine.gpus() == 8);
}

TEST_CASE("what only a recipe of Megatron-Bridge says is asked for") {
  const ImportDraft draft = command({{"launch.txt", "--recipe llama3_70b_sft_config --mode sft -tp 4 -gb 64"}}, 64);
  REQUIRE(draft.obstacles().size() == 1);
  CHECK(draft.obstacles()[0].reason.find("train.micro_batch_size, dataset.seq_length, "
                                         "model.pipeline_model_parallel_size") != std::string::npos);
  const auto refused = [](const std::string& words) {
    try {
      command({{"launch.txt", words}}, 8);
    } catch (const Error& error) {
      return error.where().text();
    }
    return std::string("read");
  };
  CHECK(refused("--recipe llama3_8b_pretrain_config mixed_precision=bf16_mixd") == "launch.txt:1:52");
  CHECK(refused("--recipe nobody_9b_config model.tensor_model_parallel_size=2") == "launch.txt:1:10");
  CHECK(refused("--recipe llama3_8b_pretrain_config ~model.fp8") == "launch.txt:1:36");
}

TEST_CASE("a script's DeepSpeed configuration is read, and not only its stage") {
  const ImportFile script{"run.sh",
                          "#!/bin/bash\ndeepspeed --num_gpus 8 pretrain_gpt.py --deepspeed --deepspeed_config ds.json "
                          "--num-layers 40 --hidden-size 5120 --num-attention-heads 40 --seq-length 2048 "
                          "--max-position-embeddings 2048 --micro-batch-size 1 --global-batch-size 64 "
                          "--padded-vocab-size 51200 --fp16\n"};
  const ImportFile json{"ds.json", R"({"train_batch_size": 64, "fp16": {"enabled": true}, "zero_optimization": )"
                                   R"({"stage": 3, "offload_optimizer": {"device": "cpu", "ratio": 0.5}}})"};
  const std::vector<ImportFile> files = {script, json};
  const ImportContext context{import_sources()};
  const ImportDraft draft = import_format("launch-script").read(files, context);
  CHECK(said(draft, "strategy.zero") == "3");
  CHECK(said(draft, "strategy.offload_optimizer") == "0.5");
  CHECK(said(draft, "training.framework") == "deepspeed");
  CHECK(draft.machine.gpus() == 8);
}
