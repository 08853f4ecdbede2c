#include "validation/run_software.hpp"

#include "validation/run_layout.hpp"
#include "validation/run_words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string_view>

namespace mirfak {

namespace {

struct FrameworkWords {
  std::string_view words;
  std::string_view also;  // must stand there too; empty: nothing more
  std::string_view framework;
};

// Looked for in flags, source and model; the first that fits.
constexpr FrameworkWords kFrameworks[] = {
    {"oneflow", "", "libai"},
    {"huggingface", "", "huggingface"},
    {"native ddp", "", "apex-ddp"},
    {"megatron_fsdp", "", "megatron-fsdp"},
    {"megatron-fsdp", "", "megatron-fsdp"},
    {"megatron-deepspeed", "", "megatron-deepspeed"},
    {"deepspeed 3d", "", "megatron-deepspeed"},
    {"deepspeed pipeline", "", "megatron-deepspeed"},
    {"(deepspeed)", "2104.04473", "deepspeed-2021"},
    {"(deepspeed)", "", "deepspeed"},
    {"deepspeed-azure", "", "deepspeed"},
    {"jax", "transformerengine", "jax-transformer-engine"},
    {"jax", "(te)", "jax-transformer-engine"},
    {"jax", "", "jax-fsdp"},
    {"llm-foundry", "", "llm-foundry"},
    {"hsdp", "torch.compile", "pytorch-fsdp-compiled"},
    {"fsdp", "torch.compile", "pytorch-fsdp-compiled"},
    {"fsdp", "", "pytorch-fsdp"},
    {"internevo", "", "internevo"},
    {"paddle", "", "paddle"},
    {"megatron-lm (2021)", "", "megatron-lm-2021"},
    {"megatron-lm 1f1b", "", "megatron-lm-2021"},
    {"megatron-lm e156d2f", "", "megatron-lm-2021"},
    {"readme sept 2020", "", "megatron-lm-2021"},
    {"2104.04473", "", "megatron-lm-2021"},
    {"2205.05198", "", "megatron-lm-2022"},
    {"ptd-p", "", "megatron-lm-2021"},
    {"pp-partition-method", "", "megatron-deepspeed"},
};

struct PrecisionWords {
  std::string_view words;
  std::string_view precision;
};

constexpr PrecisionWords kPrecisionsByWords[] = {
    {"nvfp4", "nvfp4"},
    {"mxfp8", "mxfp8"},
    {"fp8-mx", "mxfp8"},
    {"fp8-cs", "fp8-current"},
    {"current scaling", "fp8-current"},
    {"fp8", "fp8"},
    {"tf32", "tf32"},
    {"fp32", "fp32"},
    {"bf16", "bf16"},
    {"bfloat16", "bf16"},
    {"fp16", "fp16"},
    {"float16", "fp16"},
};

// Of so many blocks one is recomputed where a source recomputes "every n-th block" and does not print n.
constexpr std::int64_t kBlocksOfOneRecomputed = 2;

// NVIDIA's BERT reads sequences of up to 512 tokens in bins of 64 (LDDL, phase2_bin_size): batches are padded to the
// end of their bin only. A mean length, tried on 8 runs on A100 and kept: 1.5 % in the mean there, 7 % on V100.
constexpr std::int64_t kBinnedLength = 512;
constexpr std::int64_t kMeanBin = 320;

std::int64_t sequence_length_of(const MeasuredRun& run, const std::string& framework) {
  const std::int64_t length = run.sequence_length.value_or(0);
  return framework == "apex-ddp" && length == kBinnedLength ? kMeanBin : length;
}

bool is_fsdp(const std::string& framework) { return framework.find("fsdp") != std::string::npos; }

std::string precision_of(const MeasuredRun& run) {
  const RunWords flags(run.flags);
  const RunWords words(run.precision);
  const bool blackwell = RunWords(run.gpu).has_any({"b200", "b300"});
  // Submissions to MLPerf: FP8=False in a configuration for Blackwell selects FP4.
  if (words.has("fp8") && blackwell && flags.switch_of("fp8") == false) return "nvfp4";
  if (words.has("fp8 or nvfp4")) return "fp8-current";
  if (words.has("fp8") && flags.has_any({"fp8_recipe=tensorwise", "current"})) return "fp8-current";
  for (const PrecisionWords& candidate : kPrecisionsByWords) {
    if (words.has(candidate.words)) return std::string(candidate.precision);
  }
  return RunWords(run.gpu).has("v100") || words.has("amp") ? "fp16" : "bf16";
}

// "1", "1 over groups of 8", "3 in node + replicate across nodes", "2 (ZeRO)": the first digit; no words: 1 with the
// distributed optimizer of Megatron Core, else 0.
int zero_of(const MeasuredRun& run, const std::string& framework) {
  const RunWords words(run.zero_stage + " ");
  const RunWords flags(run.flags);
  if (flags.has("shard_grad_op")) return 2;
  const std::size_t digit = run.zero_stage.find_first_of("0123");
  if (digit != std::string::npos) {
    const bool either = run.zero_stage.compare(digit, 3, "0/1") == 0;
    return either ? 1 : run.zero_stage[digit] - '0';
  }
  if (is_fsdp(framework)) return 3;
  return framework == "megatron-core" || flags.switch_of("use_dist_optimizer").value_or(false) ? 1 : 0;
}

// GPUs that hold one copy of the sharded state, where that is not all of them; 0: all.
std::int64_t zero_group_of(const MeasuredRun& run) {
  const RunWords words(run.zero_stage);
  const std::string groups = "groups of ";
  const std::size_t at = words.text().find(groups);
  if (at != std::string::npos) return std::strtol(words.text().c_str() + at + groups.size(), nullptr, 10);
  if (words.has("in node")) return run.gpus_per_node.value_or(8);
  if (const auto degree = RunWords(run.flags).value_of("sharding_degree"))
    return std::strtol(degree->c_str(), nullptr, 10);
  return 0;
}

bool skips_blocks(const MeasuredRun& run) { return RunWords(run.flags).has("every n-th block"); }

// Pax's configuration of GPT 5B (paxml/contrib/gpu/scripts_gpu/configs.py) keeps the results of products with weights.
bool keeps_linear_results(const MeasuredRun& run) {
  return RunWords(run.flags).has("jax") && RunWords(run.model).has("gpt 5b");
}

std::string_view recompute_of(const MeasuredRun& run) {
  const RunWords words(run.recompute);
  if (words.has("full")) return "full";
  if (words.has("selective")) return skips_blocks(run) ? "full" : "selective";
  return run.recompute.empty() && keeps_linear_results(run) ? "selective" : "none";
}

// Gradients are reduced while backward runs: what a run says, or what its framework does by default.
bool overlaps_gradients(const MeasuredRun& run, const std::string& framework) {
  const RunWords flags(run.flags);
  if (const auto stated = flags.switch_of("overlap_grad_reduce")) return *stated;
  if (flags.has("not overlapped")) return false;
  return framework != "megatron-lm-2021" && framework != "megatron-deepspeed";
}

// Runs of NVIDIA's performance recipes: NeMo (nemo/collections/llm/recipes, scripts/performance), Megatron Bridge
// (scripts/performance), DGX Cloud's benchmarks, which start NeMo's, and MLPerf submissions. They state what they tune
// per model; the rest is in their code: tensor-parallel communication overlaps through user buffers (tp_comm_overlap,
// pretrain_recipe_performance of each model), gradients are reduced in 16 bits (grad_reduce_in_fp32 = False), and
// parameters are gathered beside the first forward passes (overlap_param_gather).
bool is_performance_recipe(const MeasuredRun& run, const std::string& framework) {
  if (framework != "megatron-core" && framework != "megatron-fsdp") return false;
  return RunWords(run.source + " " + run.model).has_any({"nemo", "megatron-bridge", "dgxc", "mlperf", "mlcommons"});
}

// The layers of multi-head latent attention have no user buffers in the recipes (DeepSeek: tp_comm_overlap = False).
bool overlaps_tensor(const MeasuredRun& run, const std::string& framework) {
  const auto stated = RunWords(run.flags).switch_of("tp_comm_overlap");
  if (stated) return *stated;
  return is_performance_recipe(run, framework) && !RunWords(run.model).has_any({"deepseek", "kimi"});
}

bool overlaps_parameters(const MeasuredRun& run, const std::string& framework) {
  const auto stated = RunWords(run.flags).switch_of("overlap_param_gather");
  return stated ? *stated : is_performance_recipe(run, framework);
}

// The LoRA submissions to MLPerf divide sequences by heads (CP_COMM_TYPE=a2a) and, from 5.0 on, capture whole layers
// where a GPU holds little of a sequence (MCORE_CUDA_GRAPH=1).
bool is_mlperf_lora(const MeasuredRun& run) { return run.kind == "lora" && RunWords(run.source).has("mlcommons"); }

std::string_view cuda_graphs_of(const MeasuredRun& run) {
  const RunWords flags(run.flags);
  if (flags.has("full_iteration")) return "full";
  const bool router = flags.has("'moe_router'");
  if (flags.has("cg_scope=['attn") || flags.has("cg_scope=attn")) return router ? "[attention, router]" : "attention";
  if (router) return "router";
  if (flags.has("cg_scope=mlp")) return "mlp";
  const bool layers = flags.switch_of("layer_cuda_graph").value_or(false) || flags.has("(_cg)") ||
                      flags.has("cuda_graph=transformer_engine") || flags.switch_of("cuda_graphs").value_or(false);
  if (is_mlperf_lora(run) && run.context.value_or(1) >= 4 && !RunWords(run.source).has("v4.")) return "layer";
  if (!layers) return "none";
  // Routers are captured since Megatron Core knows scopes (moe_router), which a run then names.
  return run.experts.value_or(0) > 0 ? "[attention, mlp]" : "layer";
}

std::int64_t gpus_of_replica(const MeasuredRun& run) {
  return run.tensor.value_or(1) * run.pipeline.value_or(1) * run.context.value_or(1);
}

class SectionWriter {
 public:
  explicit SectionWriter(std::string_view name) : text_(fmt::format("{}:\n", name)) {}

  template <typename T>
  void line(std::string_view key, const T& value) {
    text_ += fmt::format("  {}: {}\n", key, value);
  }
  template <typename T>
  void line_unless(std::string_view key, const T& value, const T& fallback) {
    if (value != fallback) line(key, value);
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

// Recipes of large mixtures keep each expert whole where they do not say otherwise.
void write_experts(const MeasuredRun& run, SectionWriter& out) {
  const RunWords flags(run.flags);
  out.line("expert_tensor", flags.value_of("etp").value_or("1"));
  if (flags.has("hybridep"))
    out.line("expert_dispatcher", "hybridep");
  else if (flags.has("deepep"))
    out.line("expert_dispatcher", "deepep");
  if (flags.switch_of("moe_a2a_overlap").value_or(false)) out.line("overlap_expert", true);
}

// "recompute_modules=layernorm/moe_act": a list as strategy.recompute_modules takes it.
std::string recompute_modules_of(const MeasuredRun& run) {
  if (keeps_linear_results(run)) return "[core_attn, layernorm]";
  std::string modules = RunWords(run.flags).value_of("recompute_modules").value_or("core_attn");
  for (char& c : modules) {
    if (c == '/' || c == '+') c = ',';
  }
  return "[" + modules + "]";
}

// Their recipes of narrow formats keep parameters in the format too (fp8_params, fp8_param_gather), but MLPerf's
// pre-training where it does not say so, Bridge's in blocks of 128, and NVFP4 (bridge/training/mixed_precision.py). The
// base model that LoRA freezes is created in the format, whatever the gather (te.fp8_model_init).
bool keeps_parameters_narrow(const MeasuredRun& run, const std::string& framework) {
  const std::string precision = precision_of(run);
  const auto stated = RunWords(run.flags).switch_of("fp8_param_gather");
  if (run.kind == "lora" && is_performance_recipe(run, framework)) return precision != "bf16";
  if (precision.find("fp8") == std::string::npos) return false;
  if (stated || !is_performance_recipe(run, framework)) return stated.value_or(false);
  const bool pretraining_benchmark = RunWords(run.source + run.model).has_any({"mlperf", "mlcommons"});
  return !pretraining_benchmark && precision != "fp8-block";
}

// LoRA as the run's framework applies it by default: MLPerf's reference adapts attention's projections at rank 16;
// NeMo's recipes adapt all linear layers at rank 32.
std::string lora_of(const MeasuredRun& run) {
  const bool attention_only = RunWords(run.source + run.model).has_any({"mlperf", "mlcommons"});
  return attention_only ? "{rank: 16, targets: [qkv, proj], dropout: 0.1}"
                        : "{rank: 32, targets: [qkv, proj, fc1, fc2]}";
}

bool is_framework(const std::string& name) {
  return std::any_of(std::begin(kFrameworks), std::end(kFrameworks),
                     [&](const FrameworkWords& known) { return known.framework == name; });
}

std::string framework_in_words(const MeasuredRun& run) {
  const RunWords words(run.flags + " " + run.source + " " + run.model + " " + run.precision);
  if (const auto stated = words.value_of("framework");
      stated && (is_framework(*stated) || *stated == "torchtitan" || *stated == "megatron-core"))
    return *stated;
  for (const FrameworkWords& candidate : kFrameworks) {
    if (words.has(candidate.words) && words.has(candidate.also)) return std::string(candidate.framework);
  }
  return RunWords(run.gpu).has("v100") ? "megatron-lm-2021" : "megatron-core";
}

}  // namespace

std::string framework_of(const MeasuredRun& run) {
  // Megatron Core's own optimizer shards state only; what shards parameters too is Megatron FSDP.
  const std::string framework = framework_in_words(run);
  return framework == "megatron-core" && RunWords(run.zero_stage).has("fsdp") ? "megatron-fsdp" : framework;
}

std::string training_yaml_of(const MeasuredRun& run) {
  if (!run.global_batch) fail_infeasible(run.where, "the row does not state the global batch");
  const RunWords flags(run.flags);
  const std::string framework = framework_of(run);
  SectionWriter out("training");
  out.line("global_batch", *run.global_batch);
  out.line("sequence_length", sequence_length_of(run, framework));
  out.line("precision", precision_of(run));
  out.line("framework", framework);
  if (run.kind == "lora") out.line("lora", lora_of(run));
  if (flags.has("mp mode pure")) out.line("gradient_precision", "bf16");
  if (flags.has("mp mode default")) out.line("gradient_precision", "fp32");
  if (!flags.has_any({"mp mode"}) && is_performance_recipe(run, framework)) out.line("gradient_precision", "bf16");
  if (flags.has("lamb optimizer")) out.line("optimizer", "lamb");
  if (flags.has("no optimizer")) out.line("optimizer", "none");
  if (flags.has("cuda_launch_blocking=1")) out.line("blocking_launches", true);
  if (keeps_parameters_narrow(run, framework)) out.line("fp8_parameters", true);
  if (flags.switch_of("fp8_act").value_or(false)) out.line("fp8_activation_input", true);
  out.line_unless<std::string_view>("cuda_graphs", cuda_graphs_of(run), "none");
  return out.take();
}

std::string strategy_yaml_of(const MeasuredRun& run) {
  const std::string framework = framework_of(run);
  if (!run.gpus || *run.gpus % gpus_of_replica(run) != 0) {
    fail_infeasible(run.where, "the GPUs are not a multiple of tp x pp x cp");
  }
  const std::int64_t data = *run.gpus / gpus_of_replica(run);
  const std::int64_t chunks = run.virtual_pipeline.value_or(1);
  SectionWriter out("strategy");
  out.line("tensor", run.tensor.value_or(1));
  out.line("pipeline", run.pipeline.value_or(1));
  out.line_unless<std::int64_t>("virtual_pipeline", run.pipeline.value_or(1) > 1 ? chunks : 1, 1);
  out.line_unless<std::int64_t>("context", run.context.value_or(1), 1);
  if (run.context.value_or(1) > 1 && is_mlperf_lora(run)) out.line("context_communication", "a2a");
  out.line_unless<std::int64_t>("expert", run.expert.value_or(1), 1);
  if (run.expert.value_or(1) > 1) write_experts(run, out);
  out.line("data", data);
  out.line("micro_batch", micro_batch_of(run));
  // Megatron Core trains experts beside tensor parallelism with sequence parallelism only.
  const bool stated = RunWords(run.sequence_parallel).has_any({"true", "1"});
  const bool needed = run.experts && !RunWords(run.sequence_parallel).has("false");
  const bool open =
      run.sequence_parallel.empty() && is_performance_recipe(run, framework);  // its recipes turn it on wherever tp > 1
  const bool sequence_parallel = run.tensor.value_or(1) > 1 && (stated || needed || open);
  out.line_unless("sequence_parallel", sequence_parallel, false);
  out.line_unless<std::string_view>("recompute", recompute_of(run), "none");
  const auto layers = RunWords(run.flags).value_of("recompute_num_layers");
  if (layers && recompute_of(run) == "full") out.line("recompute_layers", std::strtol(layers->c_str(), nullptr, 10));
  if (recompute_of(run) == "full" && skips_blocks(run) && run.layers)
    out.line("recompute_layers", *run.layers / kBlocksOfOneRecomputed);
  if (recompute_of(run) == "selective") out.line("recompute_modules", recompute_modules_of(run));
  if (const auto offloaded = RunWords(run.flags).value_of("act_offload_layers")) {
    out.line("offload_layers", std::strtol(offloaded->c_str(), nullptr, 10));
  }
  const int zero = data * run.context.value_or(1) > 1 ? zero_of(run, framework) : 0;
  out.line_unless("zero", zero, 0);
  const std::int64_t group = zero_group_of(run);
  if (zero > 0 && group > 0 && group < data) out.line("zero_group", group);
  const bool overlap = data * run.context.value_or(1) > 1 && overlaps_gradients(run, framework);
  out.line_unless("overlap_grad_reduce", overlap, false);
  if (zero == 1 && overlaps_parameters(run, framework)) out.line("overlap_param_gather", true);
  if (sequence_parallel && overlaps_tensor(run, framework)) out.line("overlap_tensor", true);
  const std::vector<int> split = layer_split_of(run);
  if (!split.empty()) out.line("layer_split", split);
  return out.take();
}

}  // namespace mirfak
