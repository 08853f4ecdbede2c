// llm-foundry's YAML, and Composer's command that changes it.

#include "base/failure.hpp"
#include "import/imported_job.hpp"
#include "launch_files.hpp"
#include "model/model_spec.hpp"
#include "scenario/scenario.hpp"
#include "simulation/iteration.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

namespace llm_foundry_test {

using namespace mirfak;

namespace {

// A small training of MPT, with some lines in place of others.
std::string file_with(const std::vector<std::pair<std::string, std::string>>& changes = {}) {
  std::string text =
      "variables:\n  length: 2048\n"
      "max_seq_len: ${variables.length}\n"
      "model:\n"
      "  name: mpt_causal_lm\n"
      "  d_model: 4096\n"
      "  n_heads: 32\n"
      "  n_layers: 32\n"
      "  max_seq_len: ${max_seq_len}\n"
      "  vocab_size: 50432\n"
      "  no_bias: true\n"
      "  attn_config: {attn_impl: flash, alibi: true}\n"
      "tokenizer: {name: EleutherAI/gpt-neox-20b}\n"
      "train_loader: {name: text, dataset: {local: x, max_seq_len: 2048}}\n"
      "optimizer: {name: decoupled_adamw, lr: 1.2e-4}\n"
      "algorithms: {gradient_clipping: {clipping_type: norm}}\n"
      "max_duration: 10ba\n"
      "global_train_batch_size: 1024\n"
      "device_train_microbatch_size: 16\n"
      "precision: amp_bf16\n"
      "fsdp_config:\n"
      "  sharding_strategy: FULL_SHARD\n"
      "  mixed_precision: PURE\n"
      "  activation_checkpointing: true\n";
  for (const auto& [before, after] : changes) {
    const std::size_t at = text.find(before);
    REQUIRE(at != std::string::npos);
    text.replace(at, before.size(), after);
  }
  return text;
}

ImportedJob run(const std::vector<std::pair<std::string, std::string>>& changes = {}) {
  return imported({{"mpt.yaml", file_with(changes)}}, "hgx-h100:2");
}

}  // namespace

// MPT-7B: 50,432 rows of 4,096, tied; 32 layers of 12 x 4,096^2 and two norms of 4,096, and one after them, without
// biases: 6,649,286,656 as Transformers counts (huggingface/transformers 5.24, MptForCausalLM). Layer norms have biases
// here (models/README.md): 65 x 4,096 more, a 25,000th.
TEST_CASE("llm-foundry's MPT has the parameters that Transformers counts, and trains as its file says") {
  const ImportedJob job = run();
  CHECK(job.complete);
  const Scenario scenario = parse_scenario(job.scenario, import_sources());
  const std::int64_t width = 4096;
  CHECK(50'432 * width + 32 * (12 * width * width + 2 * width) + width == 6'649'286'656);
  CHECK(count_parameters(scenario.job.model).total == 6'649'286'656.0 + 65 * 4096);
  CHECK(said(job.draft, "training.framework") == "llm-foundry");
  CHECK(said(job.draft, "training.sequence_length") == "2048");
  CHECK(said(job.draft, "training.global_batch") == "1024");
  CHECK(said(job.draft, "training.gradient_precision") == "bf16");
  CHECK(said(job.draft, "strategy.micro_batch") == "16");
  CHECK(said(job.draft, "strategy.zero") == "3");
  CHECK(said(job.draft, "strategy.recompute") == "full");
  CHECK(simulate(scenario.job).result.iteration_time_s > 0);
}

TEST_CASE("llm-foundry's other models, sharding and batches") {
  CHECK(said(run({{"mixed_precision: PURE", "mixed_precision: DEFAULT"}}).draft, "training.gradient_precision") ==
        "fp32");
  CHECK(said(run({{"FULL_SHARD", "SHARD_GRAD_OP"}}).draft, "strategy.zero") == "2");
  const ImportedJob groups = run({{"alibi: true", "rope: true, attn_type: grouped_query_attention, kv_n_heads: 8"},
                                  {"  no_bias: true\n",
                                   "  no_bias: true\n  ffn_config: {ffn_type: mptglu, "
                                   "ffn_hidden_size: 11008, ffn_act_fn: {name: silu}}\n"}});
  CHECK(groups.complete);
  const std::string model = said(groups.draft, "model");
  for (const char* part : {"kv_heads: 8", "activation: swiglu", "ffn: 11008", "position: rotary"}) {
    CHECK(model.find(part) != std::string::npos);
  }
  const ImportedJob hub =
      run({{"  name: mpt_causal_lm\n  d_model: 4096\n  n_heads: 32\n  n_layers: 32\n  max_seq_len: "
            "${max_seq_len}\n  vocab_size: 50432\n  no_bias: true\n  attn_config: {attn_impl: flash, "
            "alibi: true}\n",
            "  name: hf_causal_lm\n  pretrained_model_name_or_path: meta-llama/Llama-2-7b-hf\n"
            "  peft_config: {r: 16, peft_type: LORA, task_type: CAUSAL_LM, target_modules: [q_proj]}\n"}});
  CHECK(hub.complete);
  CHECK(said(hub.draft, "model") == "llama2-7b");
  CHECK(said(hub.draft, "training.lora.rank") == "16");
  const ImportedJob plain =
      run({{"fsdp_config:\n  sharding_strategy: FULL_SHARD\n  mixed_precision: PURE\n"
            "  activation_checkpointing: true\n",
            ""}});
  CHECK(said(plain.draft, "strategy.zero") == "0");
  CHECK(said(run({{"global_train_batch_size: 1024", "device_train_batch_size: 32"}}).draft, "training.global_batch") ==
        "512");
}

TEST_CASE("Composer's command changes llm-foundry's file, and says the GPUs") {
  const std::string command = "composer -n 8 train/train.py yamls/mpt.yaml device_train_microbatch_size=4 ";
  const ImportedJob job =
      imported({{"run.sh", command + "variables.length=4096 +model.qkv=1\n"}, {"mpt.yaml", file_with()}}, "hgx-h100:1");
  CHECK(said(job.draft, "strategy.micro_batch") == "4");
  CHECK(said(job.draft, "training.sequence_length") == "4096");
  CHECK(job.draft.machine.gpus() == 8);
}

TEST_CASE("what llm-foundry's file does not say, or mirfak does not describe, is told at its place") {
  const auto why = [](const std::vector<std::pair<std::string, std::string>>& changes) {
    try {
      return first_obstacle(run(changes));
    } catch (const Error& error) {
      CHECK(error.where().known());
      return error.message();
    }
  };
  const auto has = [](const std::string& text, const char* part) { return text.find(part) != std::string::npos; };
  CHECK(has(why({{"device_train_microbatch_size: 16", "device_train_microbatch_size: auto"}}), "largest that fits"));
  CHECK(has(why({{"  no_bias: true\n", "  ffn_config: {ffn_type: mb_dmoe, moe_num_experts: 8}\n"}}), "not read here"));
  CHECK(has(why({{"decoupled_adamw", "decoupled_lionw"}}), "optimizer"));
  CHECK(has(why({{"precision: amp_bf16", "precision: bf17"}}), "amp_bf16"));
  CHECK(has(why({{"  d_model", "  d_modle"}}), "d_model"));
  CHECK(has(why({{"alibi: true", "attn_type: grouped_query_attention"}}), "kv_n_heads"));
}

}  // namespace llm_foundry_test
