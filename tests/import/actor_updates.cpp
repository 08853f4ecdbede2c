// verl and slime: of a step of reinforcement learning the update of the actor is read, and all else is said to be left
// out.

#include "base/failure.hpp"
#include "import/imported_job.hpp"
#include "launch_files.hpp"
#include "scenario/scenario.hpp"
#include "simulation/iteration.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace actor_updates_test {

using namespace mirfak;

namespace {

ImportedJob run(const std::string& command, const std::string& nodes = "hgx-h100:1") {
  return imported({{"run.sh", command + "\n"}}, nodes);
}

// The command of a small update, with more words.
std::string update(const std::string& more = "", const std::string& before = "") {
  return "python3 -m verl.trainer.main_ppo " + before +
         " algorithm.adv_estimator=grpo data.train_batch_size=1024 data.max_prompt_length=512 "
         "data.max_response_length=1024 actor_rollout_ref.model.path=Qwen/Qwen3-8B "
         "actor_rollout_ref.actor.optim.lr=1e-6 "
         "actor_rollout_ref.actor.ppo_mini_batch_size=256 actor_rollout_ref.rollout.n=5 "
         "actor_rollout_ref.rollout.tensor_model_parallel_size=2 trainer.n_gpus_per_node=8 trainer.nnodes=1 " +
         more;
}

std::string refusal(const std::string& command) {
  try {
    return first_obstacle(run(command));
  } catch (const Error& error) {
    return error.message();
  }
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

bool notes(const ImportedJob& job, const std::string& part) {
  return std::any_of(job.draft.notes.begin(), job.draft.notes.end(),
                     [&](const ImportObstacle& note) { return has(note.reason, part); });
}

double seconds(const ImportedJob& job) {
  return simulate(parse_scenario(job.scenario, import_sources()).job).result.iteration_time_s;
}

constexpr const char* kSlime =
    "python3 train.py --actor-num-nodes 2 --actor-num-gpus-per-node 8 --colocate --swiglu --num-layers 36 "
    "--hidden-size "
    "2560 --ffn-hidden-size 9728 --num-attention-heads 32 --group-query-attention --num-query-groups 8 "
    "--use-rotary-position-embeddings --disable-bias-linear --normalization RMSNorm --vocab-size 151936 --kv-channels "
    "128 --hf-checkpoint Qwen3-4B --rollout-batch-size 32 --n-samples-per-prompt 8 --rollout-max-response-len 4096 "
    "--num-rollout 300 --advantage-estimator grpo --tensor-model-parallel-size 2 --sequence-parallel "
    "--attention-dropout 0 --hidden-dropout 0 --rollout-num-gpus-per-engine 2 --sglang-mem-fraction-static 0.7 ";

}  // namespace

TEST_CASE("an update of verl's actor under FSDP has its prompts times their answers, each as long as it may be") {
  const ImportedJob job = run(update("actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=32"));
  CHECK(job.complete);
  CHECK(said(job.draft, "training.global_batch") == "1280");
  CHECK(said(job.draft, "training.sequence_length") == "1536");
  CHECK(said(job.draft, "strategy.micro_batch") == "32");
  CHECK(said(job.draft, "strategy.recompute") == "full");
  CHECK(said(job.draft, "strategy.zero") == "3");
  CHECK(job.draft.machine.gpus() == 8);
  CHECK(notes(job, "one update of the actor, by 1280 answers"));
  CHECK(seconds(job) > 0);
}

TEST_CASE("microbatches of verl by tokens hold whole answers, as many on a rank as divide its share") {
  const std::string dynamic = "actor_rollout_ref.actor.use_dynamic_bsz=True ";
  // 160 answers a rank; 16,384 tokens by default hold 10 of 1536.
  CHECK(said(run(update(dynamic)).draft, "strategy.micro_batch") == "10");
  // Two context ranks: 320 answers each pair, and twice the tokens.
  const ImportedJob two = run(update(dynamic + "actor_rollout_ref.actor.ulysses_sequence_parallel_size=2"));
  CHECK(said(two.draft, "strategy.micro_batch") == "20");
  CHECK(said(two.draft, "strategy.context") == "2");
  CHECK(said(two.draft, "strategy.context_communication") == "a2a");
  CHECK(has(refusal(update(dynamic + "actor_rollout_ref.actor.ppo_max_token_len_per_gpu=1000")), "at least the 1536"));
  CHECK(has(refusal(update("actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=7")), "a divisor of the 160"));
  CHECK(has(refusal(update()), "ppo_micro_batch_size_per_gpu"));
}

TEST_CASE("verl's parameters in 16 bits, groups that shard, and adapters") {
  const std::string micro = "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4 ";
  const auto memory = [&](const std::string& more) {
    return simulate(parse_scenario(run(update(micro + more)).scenario, import_sources()).job)
        .result.stages.front()
        .memory.peak;
  };
  // Parameters, gradients and two moments in fp32, or all in bf16.
  const auto wide = memory("");
  const auto narrow = memory("actor_rollout_ref.actor.fsdp_config.model_dtype=bf16");
  CHECK(narrow.parameters + narrow.optimizer == doctest::Approx((wide.parameters + wide.optimizer) / 2).epsilon(0.02));
  const ImportedJob groups = run(update(micro + "actor_rollout_ref.actor.fsdp_config.fsdp_size=4"));
  CHECK(said(groups.draft, "strategy.zero_group") == "4");
  const ImportedJob adapters = run(
      update(micro + "actor_rollout_ref.model.lora_rank=32 'actor_rollout_ref.model.target_modules=[q_proj,o_proj]'"));
  CHECK(said(adapters.draft, "training.lora.rank") == "32");
  CHECK(said(adapters.draft, "training.lora.targets") == "[proj, qkv]");
}

TEST_CASE("verl on Megatron Core: its section, overrides and batch are Megatron-LM's options") {
  const ImportedJob job =
      run(update("actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=2 "
                 "actor_rollout_ref.actor.megatron.tensor_model_parallel_size=2 "
                 "actor_rollout_ref.actor.megatron.pipeline_model_parallel_size=2 "
                 "+actor_rollout_ref.actor.megatron.override_transformer_config.recompute_granularity=full "
                 "+actor_rollout_ref.actor.megatron.override_transformer_config.recompute_method=uniform "
                 "+actor_rollout_ref.actor.megatron.override_transformer_config.recompute_num_layers=1 "
                 "+actor_rollout_ref.actor.megatron.override_ddp_config.overlap_grad_reduce=True",
                 "--config-path=config --config-name=ppo_megatron_trainer"));
  CHECK(job.complete);
  CHECK(said(job.draft, "training.framework") == "megatron-core");
  CHECK(said(job.draft, "training.global_batch") == "1280");
  CHECK(said(job.draft, "strategy.tensor") == "2");
  CHECK(said(job.draft, "strategy.pipeline") == "2");
  CHECK(said(job.draft, "strategy.micro_batch") == "2");
  CHECK(said(job.draft, "strategy.sequence_parallel") == "true");
  CHECK(said(job.draft, "strategy.zero") == "1");
  CHECK(said(job.draft, "strategy.overlap_grad_reduce") == "true");
  CHECK(said(job.draft, "strategy.recompute") == "full");
  CHECK(said(job.draft, "training.precision") == "bf16");
  CHECK(seconds(job) > 0);
}

TEST_CASE(
    "what verl's engine of Megatron Core is not told, and adapters on it, are obstacles, and its optimizer counts") {
  const std::string named = "--config-name=ppo_megatron_trainer";
  const std::string micro = "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=2 ";
  CHECK(has(first_obstacle(run(update("", named))), "ppo_micro_batch_size_per_gpu"));
  CHECK_FALSE(run(update("", named)).complete);
  CHECK(has(first_obstacle(run(update(micro + "actor_rollout_ref.model.lora.rank=16", named))), "adapters"));
  const ImportedJob job = run(update(micro + "actor_rollout_ref.actor.optim.optimizer=sgd", named));
  CHECK(said(job.draft, "training.optimizer") == "sgd");
}

TEST_CASE("verl's supervised tuning, by names of several releases") {
  const std::string torchrun = "torchrun --standalone --nnodes=1 --nproc_per_node=8 -m ";
  const ImportedJob old = run(torchrun +
                              "verl.trainer.fsdp_sft_trainer data.micro_batch_size_per_gpu=4 data.max_length=2048 "
                              "data.train_batch_size=256 model.partial_pretrain=Qwen/Qwen2.5-7B "
                              "ulysses_sequence_parallel_size=2 use_remove_padding=true");
  CHECK(old.complete);
  CHECK(said(old.draft, "training.global_batch") == "256");
  CHECK(said(old.draft, "strategy.micro_batch") == "4");
  CHECK(said(old.draft, "strategy.context") == "2");
  CHECK_FALSE(notes(old, "actor"));
  const ImportedJob now = run(torchrun +
                              "verl.trainer.sft_trainer data.max_length=2048 data.train_batch_size=256 "
                              "model.path=Qwen/Qwen2.5-7B engine=fsdp optim=fsdp engine.strategy=fsdp2");
  CHECK(now.complete);
  CHECK(said(now.draft, "strategy.micro_batch") == "4");  // 8,192 tokens by default
}

TEST_CASE("a file that --config-name names comes before the command's own words") {
  const std::vector<ImportFile> files = {
      {"run.sh", "python3 -m verl.trainer.main_ppo --config-name=mine trainer.nnodes=2\n"},
      {"mine.yaml",
       "actor_rollout_ref:\n  model: {path: Qwen/Qwen3-8B}\n  actor: {ppo_mini_batch_size: 64, "
       "ppo_micro_batch_size_per_gpu: 4}\n  rollout: {n: 8}\ndata:\n  max_prompt_length: 1024\n  max_response_length: "
       "${data.max_prompt_length}\ntrainer: {nnodes: 1, n_gpus_per_node: 8}\n"}};
  const ImportedJob job = imported(files, "hgx-h100:2");
  CHECK(job.complete);
  CHECK(said(job.draft, "training.global_batch") == "512");
  CHECK(said(job.draft, "training.sequence_length") == "2048");
  CHECK(job.draft.machine.gpus() == 16);
}

TEST_CASE("slime: Megatron-LM's options, with the batch and the samples of its own") {
  const std::string rest = std::string(kSlime) + "--num-steps-per-rollout 2 ";
  const ImportedJob job = run(rest + "--use-dynamic-batch-size --max-tokens-per-gpu 9216", "hgx-h100:2");
  CHECK(job.complete);
  CHECK(said(job.draft, "training.global_batch") == "128");
  CHECK(said(job.draft, "training.sequence_length") == "4096");
  CHECK(said(job.draft, "strategy.micro_batch") == "2");  // 16 samples a rank; 9,216 tokens hold two
  CHECK(said(job.draft, "strategy.zero") == "1");
  CHECK(said(job.draft, "training.precision") == "bf16");
  CHECK(job.draft.machine.gpus() == 16);
  CHECK(notes(job, "one update of the actor"));
  CHECK(seconds(job) > 0);
  CHECK(said(run(rest + "--micro-batch-size 4", "hgx-h100:2").draft, "strategy.micro_batch") == "4");
}

TEST_CASE("words that verl and slime do not have, and settings that they refuse") {
  const std::string micro = "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4 ";
  CHECK(has(refusal(update(micro + "actor_rollout_ref.actor.ppo_mini_batch_sise=3")), "ppo_mini_batch_size"));
  CHECK(has(refusal(update(micro + "actor_rollout_ref.actor.strategy=veomni")), "engine of verl"));
  CHECK(has(refusal(update(micro + "trainer.nnodes=two")), "whole number"));
  CHECK(has(refusal(update(micro + "trainer.n_gpus_per_node=7")), "equal shares"));
  CHECK(has(refusal(update(micro + "actor_rollout_ref.model.path=Qwen/Qwen3-8X")), "config.json"));
  CHECK(has(refusal(update(micro + "actor_rollout_ref.actor.qat.enable=True")), "few bits"));
  CHECK(has(refusal(kSlime), "--global-batch-size"));
  CHECK(has(refusal(std::string(kSlime) + "--global-batch-size 96 --use-dynamic-batch-size"), "--max-tokens-per-gpu"));
  CHECK(has(refusal(std::string(kSlime) + "--global-batch-size ten"), "ten"));
}

}  // namespace actor_updates_test
