// nanotron's YAML: sections that are dataclasses, kinds of models by their keys, and the command that reads the file.

#include "import/nanotron.hpp"

#include "base/failure.hpp"
#include "import/imported_job.hpp"
#include "import/program_facts.hpp"
#include "launch/option_list.hpp"
#include "launch_files.hpp"
#include "scenario/scenario.hpp"
#include "simulation/iteration.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <span>

namespace nanotron_test {

using namespace mirfak;

namespace {

ImportedJob read(const std::vector<ImportFile>& files, const std::string& nodes = "hgx-h100:2") {
  return imported(files, nodes);
}

constexpr const char* kModel =
    "  model_config:\n"
    "    hidden_act: silu\n"
    "    hidden_size: 2048\n"
    "    intermediate_size: 8192\n"
    "    is_llama_config: true\n"
    "    max_position_embeddings: 4096\n"
    "    num_attention_heads: 32\n"
    "    num_hidden_layers: 24\n"
    "    num_key_value_heads: 8\n"
    "    rope_scaling: null\n"
    "    tie_word_embeddings: false\n"
    "    vocab_size: 49152\n";

constexpr const char* kStarcoder =
    "  model_config:\n    is_starcoder2_config: true\n    hidden_size: 2048\n    num_hidden_layers: 24\n"
    "    num_attention_heads: 16\n    grouped_query: true\n    num_kv_heads: 2\n    resid_pdrop: 0.0\n"
    "    attn_pdrop: 0.0\n    embd_pdrop: 0.0\n";

// The file with some lines in place of others: {"  dp: 4", "  dp: 2"}.
std::string file_with(const std::vector<std::pair<std::string, std::string>>& changes = {}) {
  std::string text = std::string("general:\n  project: p\n  run: r\n  seed: 42\nmodel:\n  dtype: bfloat16\n") + kModel +
                     "  init_method:\n    std: 0.02\n"
                     "parallelism:\n"
                     "  dp: 4\n"
                     "  pp: 2\n"
                     "  tp: 2\n"
                     "  pp_engine: 1f1b\n"
                     "  tp_mode: REDUCE_SCATTER\n"
                     "  tp_linear_async_communication: true\n"
                     "  recompute_layer: false\n"
                     "tokens:\n"
                     "  sequence_length: 4096\n"
                     "  micro_batch_size: 2\n"
                     "  batch_accumulation_per_replica: 8\n"
                     "  train_steps: 100\n"
                     "optimizer:\n"
                     "  accumulate_grad_in_fp32: true\n"
                     "  clip_grad: 1.0\n"
                     "  zero_stage: 0\n"
                     "  weight_decay: 0.1\n"
                     "  optimizer_factory: {name: adamW, adam_beta1: 0.9, adam_beta2: 0.95, adam_eps: 1e-8, "
                     "torch_adam_is_fused: true}\n"
                     "  learning_rate_scheduler: {learning_rate: 3e-4}\n"
                     "data_stages:\n"
                     "- name: stable\n"
                     "  start_training_step: 1\n"
                     "  data: {seed: 42, dataset: {hf_dataset_or_datasets: x}}\n";
  for (const auto& [before, after] : changes) {
    const std::size_t at = text.find(before);
    REQUIRE(at != std::string::npos);
    text.replace(at, before.size(), after);
  }
  return text;
}

ImportedJob run(const std::vector<std::pair<std::string, std::string>>& changes = {},
                const std::string& nodes = "hgx-h100:2") {
  return read({{"job.yaml", file_with(changes)}}, nodes);
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

// 2 sequences in each of 8 microbatches on 4 data ranks. Over the hidden size a layer weighs 4 x 32 x 64 + 3 x 8192 =
// 32,768, and the head 49,152: half of 24 x 32,768 + 49,152 is 417,792, which the 13th layer exceeds.
TEST_CASE("nanotron's file: ranks, stages by weights, batch, and gradients in fp32") {
  const ImportedJob job = run();
  CHECK(job.complete);
  CHECK(job.format->name == "nanotron-yaml");
  CHECK(said(job.draft, "strategy.data") == "4");
  CHECK(said(job.draft, "strategy.tensor") == "2");
  CHECK(said(job.draft, "strategy.pipeline") == "2");
  CHECK(said(job.draft, "strategy.layer_split") == "[13, 11]");
  CHECK(said(job.draft, "strategy.schedule") == "1f1b");
  CHECK(said(job.draft, "strategy.sequence_parallel") == "true");
  CHECK(said(job.draft, "strategy.recompute") == "none");
  CHECK(said(job.draft, "strategy.zero") == "0");
  CHECK(said(job.draft, "strategy.overlap_grad_reduce") == "true");
  CHECK(said(job.draft, "training.global_batch") == "64");
  CHECK(said(job.draft, "training.sequence_length") == "4096");
  CHECK(said(job.draft, "training.framework") == "nanotron");
  CHECK(said(job.draft, "training.first_moment").empty());
  const Scenario scenario = parse_scenario(job.scenario, import_sources());
  CHECK(simulate(scenario.job).result.iteration_time_s > 0);
}

TEST_CASE("nanotron's gradients and optimizer in 16 bits, ZeRO, and other habits of the file") {
  const ImportedJob narrow = run({{"accumulate_grad_in_fp32: true", "accumulate_grad_in_fp32: false"},
                                  {"zero_stage: 0", "zero_stage: 2"},
                                  {"  dtype: bfloat16",
                                   "  dtype: bfloat16\n  make_vocab_size_divisible_by: 64\n"
                                   "  ddp_bucket_cap_mb: 100"}});
  CHECK(narrow.complete);
  CHECK(said(narrow.draft, "training.first_moment") == "bf16");
  CHECK(said(narrow.draft, "training.gradient_precision") == "bf16");
  CHECK(said(narrow.draft, "strategy.zero") == "1");
  CHECK(said(narrow.draft, "strategy.overlap_grad_reduce") == "false");
  CHECK(has(said(narrow.draft, "training.framework"), "optimizer_bytes: 8"));
  CHECK(has(said(narrow.draft, "training.framework"), "vocabulary_multiple: 64"));
  CHECK(has(said(narrow.draft, "training.framework"), "bucket_parameters: 52428800"));
  CHECK(has(said(run({{"clip_grad: 1.0", "clip_grad: null"}}).draft, "training.framework"),
            "optimizer_traffic_bytes: 38"));
  CHECK_FALSE(run({{"  dtype: bfloat16", "  dtype: float32"}}).complete);
  const ImportedJob wide = run(
      {{"  dtype: bfloat16", "  dtype: float32"}, {"accumulate_grad_in_fp32: true", "accumulate_grad_in_fp32: false"}});
  CHECK(wide.complete);
  CHECK(said(wide.draft, "training.first_moment").empty());
  const auto state = [](const ImportedJob& job) {
    return simulate(parse_scenario(job.scenario, import_sources()).job).result.stages.front().memory.peak.optimizer;
  };
  CHECK(state(run({{"accumulate_grad_in_fp32: true", "accumulate_grad_in_fp32: false"}})) ==
        doctest::Approx(state(run()) / 3).epsilon(0.01));
}

TEST_CASE("nanotron's kinds of models are told by their keys") {
  const std::pair<std::string, std::string> mixture = {
      "    is_llama_config: true",
      "    is_qwen2_config: true\n    attention_bias: true\n    moe_config: {num_experts: 16, top_k: 4, "
      "moe_intermediate_size: 1024, layers: [1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23], enable_shared_expert: true}"};
  CHECK(has(first_obstacle(run({mixture})), "whole experts"));
  CHECK(said(run({{"    is_llama_config: true", "    is_qwen2_config: true\n    moe_config: null"}}).draft,
             "model.experts")
            .empty());
  CHECK(said(run({{"    is_llama_config: true", "    is_qwen2_config: true\n    moe_config: {}"}}).draft,
             "model.experts") == "{count: 8, per_token: 2, ffn: 1408}");
  const ImportedJob experts = run({mixture, {"  tp: 2", "  tp: 1"}, {"  dp: 4", "  dp: 8"}});
  CHECK(experts.complete);
  CHECK(said(experts.draft, "model.qkv_bias") == "true");
  CHECK(said(experts.draft, "model.experts") ==
        "{count: 16, per_token: 4, ffn: 1024, shared_ffn: 5632, first_dense: 0, every: 2}");
  CHECK(said(run({{"    is_llama_config: true",
                   "    is_qwen2_config: true\n    sliding_window_size: 1024\n    "
                   "no_rope_layer: 4"}})
                 .draft,
             "model.sliding_window") == "{tokens: 1024, full_every: 4}");
  CHECK(has(first_obstacle(run({{"    is_llama_config: true", "    is_llama_config: true\n    multi_query: true"}})),
            "no kind of model"));
  // A mixture whose layers are all but one: no such model.
  CHECK_FALSE(
      run({{"    is_llama_config: true", "    is_qwen2_config: true\n    moe_config: {layers: [0, 2, 3]}"}}).complete);
  const ImportedJob code = run({{kModel, kStarcoder}});
  CHECK(code.complete);
  CHECK(said(code.draft, "model.activation") == "gelu");
  CHECK(said(code.draft, "model.kv_heads") == "2");
  CHECK(said(code.draft, "model.ffn") == "8192");
  CHECK(said(code.draft, "model.dropout") == "0");
}

TEST_CASE("nanotron's context and expert ranks, and what its files may not say") {
  const auto ring = [](const std::string& kernel) {
    return run({{"  dp: 4", "  dp: 2\n  context_parallel_size: 2"},
                {"    is_llama_config: true",
                 "    is_qwen2_config: true\n    _attn_implementation: " + kernel +
                     (kernel == "llama3_ring_attention" ? "\n    ring_attn_heads_k_stride: 1" : "")}});
  };
  CHECK(ring("llama3_ring_attention").complete);
  CHECK(said(ring("llama3_ring_attention").draft, "strategy.context_communication") == "all-gather");
  CHECK(has(first_obstacle(ring("flash_attention_2")), "attends to its own tokens"));
  CHECK(has(first_obstacle(run({{"  dp: 4", "  dp: 4\n  expert_parallel_size: 2"}})), "exchanges no rows"));
  CHECK(has(first_obstacle(run({{"start_training_step: 1", "start_training_step: 1\n  sequence_length: 8192"}})),
            "another length"));
  CHECK(has(first_obstacle(run({{"hidden_act: silu", "hidden_act: mish"}})), "an activation function"));
  // The program takes no unknown key, in whatever section.
  for (const auto& [key, meant] : {std::pair("  dp: 4\n  tp_mod: x", "tp_mode"), {"  dp: 4\n  dpp: 1", "dp"}}) {
    const std::string why = first_obstacle(run({{"  dp: 4", key}}));
    CHECK(has(why, "nanotron has no such key"));
    CHECK(has(why, meant));
  }
  CHECK(
      has(first_obstacle(run({{"- name: stable", "- name: stable\n  start_training_stp: 1"}})), "start_training_step"));
  // A required key that is misspelt is told as what it is.
  CHECK(has(failure_of([&] { run({{"  dp: 4", "  dpp: 4"}}); }), "did you mean 'parallelism.dp'"));
  for (const std::pair<std::string, std::string>& change : {std::pair<std::string, std::string>{"  pp: 2", "  pp: 0"},
                                                            {"  pp: 2", "  pp: 25"},
                                                            {"  pp: 2\n", ""},
                                                            {"pp_engine: 1f1b", "pp_engine: zb"},
                                                            {"zero_stage: 0", "zero_stage: x"},
                                                            {"  tp: 2", "  tp: two"}}) {
    CAPTURE(change.second);
    CHECK_THROWS_AS(run({change}), Error);
  }
}

TEST_CASE("a command of run_train.py names nanotron's file, and null is its default") {
  const std::string file = file_with({{"pp_engine: 1f1b", "pp_engine: null"}});
  const auto script = [](const std::string& words) {
    return "#!/bin/bash\nexport CUDA_DEVICE_MAX_CONNECTIONS=1\ntorchrun --nproc_per_node=8 --nnodes=2 " + words + "\n";
  };
  const ImportedJob job = read({{"run.sh", script("run_train.py --config-file job.yaml")}, {"job.yaml", file}});
  CHECK(job.complete);
  CHECK(job.draft.machine.gpus() == 16);
  CHECK(said(job.draft, "strategy.schedule") == "gpipe");
  CHECK_THROWS_AS(read({{"run.sh", script("run_train.py --config-file other.yaml")}, {"job.yaml", file}}), Error);
  CHECK_THROWS_AS(read({{"run.sh", script("run_train.py")}}), Error);
  CHECK_THROWS_AS(read({{"run.sh", script("run_generate.py --ckpt-path x")}}), Error);
}

TEST_CASE("each field of nanotron's dataclasses has a line that says what became of it") {
  const ProgramFacts facts(import_sources(), "nanotron");
  const OptionList& list = option_list(import_sources().folders.hardware, "nanotron");
  REQUIRE(facts.names().size() > 200);
  // Sections may stand twice in a file, and the last of a key counts.
  const auto nested = [](const std::string& name, const std::string& value) {
    std::string out;
    std::size_t depth = 0;
    for (std::size_t at = 0; at <= name.size(); ++depth) {
      const std::size_t dot = std::min(name.find('.', at), name.size());
      out += std::string(2 * depth, ' ') + name.substr(at, dot - at) + (dot == name.size() ? ": " + value : ":") + "\n";
      at = dot + 1;
    }
    return out;
  };
  const auto judged = [&](const ImportDraft& draft, const std::string& name) {
    const std::vector<ImportLine> lines = draft.lines();
    return std::any_of(lines.begin(), lines.end(), [&](const ImportLine& line) {
      return line.text.starts_with(name + ":") && line.reason.find("not an option") == std::string::npos &&
             !(line.verdict == Verdict::unknown && line.reason.empty());
    });
  };
  const std::string base = file_with({{"    is_llama_config: true", "    is_qwen2_config: true"},
                                      {"    tie_word", "    moe_config: {top_k: 2}\n    tie_word"}});
  const std::string starcoder = file_with({{kModel, kStarcoder}});
  std::string others = base;
  for (const std::string& name : facts.names()) {
    if (list.find(name) == nullptr && !name.starts_with("data_stages.")) others += nested(name, "1");
  }
  const auto draft_of = [](const std::string& text) {
    const ImportFile file{"job.yaml", text};
    return import_format("nanotron-yaml").read(std::span(&file, 1), ImportContext{import_sources()});
  };
  const ImportDraft draft = draft_of(others);
  for (const std::string& name : facts.names()) {
    CAPTURE(name);
    if (name.starts_with("data_stages.")) continue;
    if (list.find(name) == nullptr) {
      CHECK(judged(draft, name));
      continue;
    }
    bool read_once = false;
    const bool of_starcoder = has(name, "activation_function") || has(name, "ed_query") || has(name, "multi_query") ||
                              has(name, "num_kv") || has(name, "resid");
    for (const char* value :
         {"1", "true", "silu", "gelu", "adamW", "1f1b", "ALL_REDUCE", "bfloat16", "sdpa", "[-1]", "8"}) {
      try {
        const std::string& text = of_starcoder ? starcoder : base;
        read_once = read_once || judged(draft_of(text + nested(name, value)), name);
      } catch (const Error& error) {
        CHECK(error.kind() == ErrorKind::input);
      }
    }
    CHECK(read_once);
  }
}

}  // namespace nanotron_test
