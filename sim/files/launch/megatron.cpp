// Megatron-LM core_v0.19.0. Sources of the valid combinations: megatron/training/arguments.py,
// megatron/core/model_parallel_config.py and megatron/core/transformer/transformer_config.py, whose fields are
// arguments too; combinations that these files refuse are refused here.

#include "launch/launch_targets.hpp"
#include "launch/megatron_model.hpp"
#include "launch/megatron_options.hpp"
#include "launch/option_list.hpp"
#include "schedule/schedule.hpp"
#include "strategy/rules.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <vector>

namespace mirfak {

namespace {

std::string times(char layer, int count) {
  return count == 0 ? "" : count == 1 ? std::string(1, layer) : fmt::format("{}*{}", layer, count);
}

// Returns "Et*3|t*4|t*3L": chunks in the order of the model, as in layer_split; m is a module of multi-token
// prediction.
std::string layout(const Job& job) {
  const std::vector<int>& split = job.strategy.layer_split;
  std::string text = "E";
  for (std::size_t i = 0; i < split.size(); ++i) text += (i > 0 ? "|" : "") + times('t', split[i]);
  return text + times('m', static_cast<int>(job.model.prediction_layers)) + "L";
}

void add_chunks(LaunchOptions& out, const Job& job, const MegatronStyle& style) {
  const Strategy& s = job.strategy;
  if (!s.layer_split.empty()) out.value("--pipeline-model-parallel-layout", layout(job));
  // With a layout Megatron-LM counts the chunks itself; if embedding or head count as layers, the number of layers of a
  // chunk would have to divide the model's number of layers.
  const bool counted = s.virtual_pipeline > 1 && (s.layer_split.empty() || style.says_chunks);
  if (counted && (style.says_chunks || s.counted_as_layers() > 0)) {
    out.value("--num-virtual-stages-per-pipeline-rank", s.virtual_pipeline);
  } else if (counted) {
    out.value("--num-layers-per-virtual-pipeline-stage", job.model.layers / s.pipeline / s.virtual_pipeline);
  }
}

void add_pipeline(LaunchOptions& out, const Job& job, const MegatronStyle& style) {
  const Strategy& s = job.strategy;
  const bool one_microbatch = s.schedule == schedule_named("gpipe") && microbatches(s, job.training) == 1;
  require_expressible(schedule_of(s.schedule).alternates || one_microbatch, "strategy.schedule",
                      "Megatron-LM has 1F1B and interleaved 1F1B only", "choose 1f1b");
  const bool one_chunk = s.schedule == schedule_named("interleaved-1f1b") && s.virtual_pipeline == 1;
  require_expressible(!one_chunk, "strategy.schedule", "Megatron-LM interleaves from 2 chunks of a stage on",
                      "choose 1f1b or a larger virtual_pipeline");
  const bool scatters = s.scatter_gather == ScatterGather::on && scatters_transfers(s, job.framework);
  require_expressible(s.pipeline == 1 || !scatters, "strategy.scatter_gather",
                      "Megatron Core sends whole activations between stages unless tokens are divided",
                      "leave it out, or set sequence_parallel: true");
  out.value("--pipeline-model-parallel-size", s.pipeline);
  add_chunks(out, job, style);
  if (s.account_for_embedding_in_pipeline_split) out.flag("--account-for-embedding-in-pipeline-split");
  if (s.account_for_loss_in_pipeline_split) out.flag("--account-for-loss-in-pipeline-split");
  if (s.virtual_pipeline > 1 && s.microbatch_group > 0) {
    out.value("--microbatch-group-size-per-virtual-pipeline-stage", s.microbatch_group);
  }
}

void add_parallelism(LaunchOptions& out, const Job& job, const MegatronStyle& style) {
  const Strategy& s = job.strategy;
  out.value("--tensor-model-parallel-size", s.tensor);
  if (s.sequence_parallel) out.flag("--sequence-parallel");
  if (s.overlap_tensor) out.flag("--tp-comm-overlap");
  add_pipeline(out, job, style);
  out.value("--context-parallel-size", s.context);
  if (s.context > 1) {
    constexpr std::array<std::string_view, 3> names = {"p2p", "all_gather", "a2a"};
    out.value("--cp-comm-type", names.at(static_cast<std::size_t>(s.context_communication)));
  }
  out.value("--micro-batch-size", s.micro_batch);
  out.value("--global-batch-size", job.training.global_batch);
}

void require_overlapped_exchange(const Job& job) {
  const Strategy& s = job.strategy;
  constexpr std::string_view key = "strategy.overlap_expert";
  require_expressible(s.expert > 1, key, "Megatron-LM overlaps the exchange among expert-parallel ranks only",
                      "leave it out");
  require_expressible(s.pipeline == 1 || s.virtual_pipeline > 1, key,
                      "Megatron-LM overlaps the exchange beside pipeline stages with several chunks only",
                      "raise virtual_pipeline");
  require_expressible(s.expert_dispatcher != ExpertDispatcher::all_gather, key,
                      "Megatron-LM overlaps all-to-alls and its flexible dispatchers only", "choose alltoall");
  const bool selective = s.recompute == Recompute::selective;
  const bool kept = selective && s.recompute_modules.test(static_cast<std::size_t>(Module::experts));
  require_expressible(s.recompute != Recompute::full && !kept, key,
                      "Megatron-LM does not overlap the exchange where layers or experts are recomputed",
                      "recompute other modules");
  require_expressible(job.training.precision != "fp32", key, "Megatron-LM overlaps the exchange in bf16 and fp16 only",
                      "choose another precision");
}

void add_experts(LaunchOptions& out, const Job& job) {
  const Strategy& s = job.strategy;
  if (job.model.mixture.experts == 0) return;
  out.value("--expert-model-parallel-size", s.expert);
  out.value("--expert-tensor-parallel-size", s.tensor_of_experts());
  const std::string& dispatcher = expert_dispatcher_names()[static_cast<std::size_t>(s.expert_dispatcher)];
  const bool flexible =
      s.expert_dispatcher == ExpertDispatcher::deep_ep || s.expert_dispatcher == ExpertDispatcher::hybrid_ep;
  out.value("--moe-token-dispatcher-type", flexible ? "flex" : dispatcher);
  if (flexible) out.value("--moe-flex-dispatcher-backend", dispatcher);
  if (!s.overlap_expert) return;
  require_overlapped_exchange(job);
  out.flag("--overlap-moe-expert-parallel-comm");
}

std::vector<std::string> recomputed_modules(const Strategy& s) {
  std::vector<std::string> names;
  for (std::size_t module = 0; module < kModules; ++module) {
    if (s.recompute_modules.test(module)) names.push_back(module_names()[module]);
  }
  return names;
}

void add_recomputation(LaunchOptions& out, const Job& job, const MegatronStyle& style) {
  const Strategy& s = job.strategy;
  if (s.recompute == Recompute::full) {
    out.value("--recompute-granularity", "full");
    out.value("--recompute-method", s.partly_recomputed() > 0 ? "block" : "uniform");
    out.value("--recompute-num-layers", std::max(1, s.recompute_layers));
  }
  if (s.recompute == Recompute::selective && s.recompute_modules.any()) {
    require_expressible(s.recompute_layers == 0, "strategy.recompute_layers",
                        "Megatron-LM recomputes modules in all layers or none", "leave it out, or recompute: full");
    require_expressible(!s.recompute_modules.test(static_cast<std::size_t>(Module::alternate_products)),
                        "strategy.recompute_modules", "Megatron-LM recomputes modules, not every other product",
                        "choose among the others");
    out.value("--recompute-granularity", "selective");
    out.words("--recompute-modules", recomputed_modules(s));
  }
  if (s.offload_layers == 0) return;
  require_expressible(s.recompute == Recompute::none, "strategy.offload_layers",
                      "Megatron-LM does not offload activations beside recomputation", "set recompute: none");
  require_expressible(s.offload_layers < job.model.layers, "strategy.offload_layers",
                      "Megatron-LM offloads fewer than all layers", "choose fewer");
  if (style.fields) out.flag("--cpu-offloading");
  out.value("--cpu-offloading-num-layers", s.offload_layers);
}

void add_optimizer_offload(LaunchOptions& out, const Job& job) {
  const Strategy& s = job.strategy;
  if (s.offload_optimizer == 0) return;
  constexpr std::string_view key = "strategy.offload_optimizer";
  require_expressible(s.zero == 1, key, "Megatron-LM offloads the distributed optimizer", "set zero: 1");
  const bool delayed = job.training.precision == "fp8" || job.training.precision == "fp8-delayed";
  require_expressible(!job.training.fp8_parameters || delayed, key,
                      "Megatron-LM offloads the optimizer of fp8 parameters with fp8-delayed only",
                      "leave training.fp8_parameters out");
  out.flag("--use-precision-aware-optimizer");
  out.flag("--optimizer-cpu-offload");
  out.value("--optimizer-offload-fraction", s.offload_optimizer);
  out.flag("--overlap-cpu-optimizer-d2h-h2d");
}

// Adds sharding: ZeRO 1 is the distributed optimizer, 2 and 3 are Megatron FSDP, which overlaps by itself.
void add_sharding(LaunchOptions& out, const Job& job) {
  const Strategy& s = job.strategy;
  const bool muon = job.training.optimizer == Optimizer::muon;  // dist_muon divides matrices by itself
  if (s.zero > 0 && !muon) out.flag("--use-distributed-optimizer");
  if (s.zero > 1) {
    out.flag("--use-megatron-fsdp");
    out.value("--data-parallel-sharding-strategy", s.zero == 2 ? "optim_grads" : "optim_grads_params");
    out.value("--ckpt-format", "fsdp_dtensor");
  }
  if (s.shards() > 1 && s.shards() < s.replicas()) {
    out.value("--num-distributed-optimizer-instances", s.replicas() / s.shards());
  }
  const bool reduces_beside = s.overlap_grad_reduce || s.zero > 1;
  const bool gathers_beside = s.overlap_param_gather || s.zero > 1;
  require_expressible(reduces_beside || !gathers_beside, "strategy.overlap_param_gather",
                      "Megatron-LM overlaps the gather of parameters beside overlapped reductions only",
                      "set overlap_grad_reduce: true");
  if (reduces_beside) out.flag("--overlap-grad-reduce");
  if (gathers_beside) out.flag("--overlap-param-gather");
  add_optimizer_offload(out, job);
}

// True if one queue of kernels is needed: before Blackwell, tensor and context parallelism need one queue; Megatron
// FSDP needs several.
bool wants_one_queue(const Strategy& s) { return s.zero < 2 && (s.tensor > 1 || s.context > 1); }

}  // namespace

LaunchOptions megatron_strategy(const Job& job, const MegatronStyle& style) {
  LaunchOptions out;
  add_parallelism(out, job, style);
  add_experts(out, job);
  add_recomputation(out, job, style);
  add_sharding(out, job);
  add_megatron_training(out, job, style);
  return out;
}

LaunchOptions megatron_options(const Job& job, const MegatronStyle& style) {
  LaunchOptions out;
  add_megatron_model(out, job, style);
  const LaunchOptions strategy = megatron_strategy(job, style);
  for (const LaunchOption& option : strategy.all()) out.add(option);
  return out;
}

std::vector<std::pair<std::string, std::string>> megatron_environment(const Job& job) {
  if (!wants_one_queue(job.strategy)) return {};
  return {{"CUDA_DEVICE_MAX_CONNECTIONS", "1"}};
}

LaunchProgram megatron_program(const Job& job, const std::filesystem::path& hardware) {
  const OptionList list(hardware, "megatron");
  LaunchProgram out;
  out.start = {"pretrain_gpt.py"};
  out.comments = {list.title(), world_comment(job)};
  out.options = megatron_options(job, {});
  out.environment = megatron_environment(job);
  list.require(out.options);
  return out;
}

}  // namespace mirfak
