// Megatron-LM core_v0.19.0. Sources of the valid combinations: megatron/training/arguments.py,
// megatron/core/model_parallel_config.py and megatron/core/transformer/transformer_config.py, whose fields are
// arguments too; combinations that these files refuse are refused here.

#include "launch/launch_targets.hpp"
#include "launch/megatron_options.hpp"
#include "launch/option_writer.hpp"
#include "schedule/schedule.hpp"
#include "strategy/rules.hpp"

#include <algorithm>
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
  const bool counted = s.virtual_pipeline > 1 && (s.layer_split.empty() || style.by_recipe);
  if (counted && (style.by_recipe || s.counted_as_layers() > 0)) {
    out.value("--num-virtual-stages-per-pipeline-rank", s.virtual_pipeline);
  } else if (counted) {
    out.value("--num-layers-per-virtual-pipeline-stage", job.model.layers / s.pipeline / s.virtual_pipeline);
  }
}

// Adds context ranks of which groups divide heads: the first level of two.
void add_context(LaunchOptions& out, const Strategy& s) {
  if (s.context_heads == 1) return;
  require_expressible(s.context_communication == ContextCommunication::p2p, "strategy.context_communication",
                      "Megatron Core passes keys and values around between groups that divide heads", "choose p2p");
  out.value("--cp-comm-type", "a2a+p2p");
  out.words("--hierarchical-context-parallel-sizes",
            {std::to_string(s.context_heads), std::to_string(s.context / s.context_heads)});
}

// Checks rules that no list of refusals can state.
void require_strategy(const Job& job) {
  const Strategy& s = job.strategy;
  const bool one_microbatch = s.schedule == schedule_named("gpipe") && microbatches(s, job.training) == 1;
  require_expressible(schedule_of(s.schedule).alternates || one_microbatch, "strategy.schedule",
                      "Megatron-LM has 1F1B and interleaved 1F1B only", "choose 1f1b");
  const bool scatters = s.scatter_gather == ScatterGather::on && scatters_transfers(s, job.framework);
  require_expressible(s.pipeline == 1 || !scatters, "strategy.scatter_gather",
                      "Megatron Core sends whole activations between stages unless tokens are divided",
                      "leave it out, or set sequence_parallel: true");
}

void add_recomputation(LaunchOptions& out, const Strategy& s, const MegatronStyle& style) {
  if (s.recompute == Recompute::full) {
    out.value("--recompute-granularity", "full");
    out.value("--recompute-method", s.partly_recomputed() > 0 ? "block" : "uniform");
    out.value("--recompute-num-layers", std::max(1, s.recompute_layers));
  }
  if (s.recompute == Recompute::selective && s.recompute_modules.any()) {
    out.value("--recompute-granularity", "selective");
    std::vector<std::string> modules;
    for (std::size_t module = 0; module < kModules; ++module) {
      if (s.recompute_modules.test(module)) modules.push_back(module_names()[module]);
    }
    out.words("--recompute-modules", std::move(modules));
  }
  if (style.fields && s.offload_layers > 0) out.flag("--cpu-offloading");
}

// Adds modules whose inputs wait on the host. Transformer Engine joins norms with the products behind them, so what the
// norm in front of attention reads waits with "qkv_linear", and norms in front of plain MLPs are no modules.
void add_offloaded_modules(LaunchOptions& out, const Job& job) {
  ModuleSet modules = job.strategy.offload_modules;
  if (modules.none()) return;
  constexpr const char* key = "strategy.offload_modules";
  const auto at = [](OffloadModule module) { return static_cast<std::size_t>(module); };
  const bool norm = modules.test(at(OffloadModule::attention_norm));
  if (job.model.latent.key_value_rank == 0) {
    require_expressible(norm == modules.test(at(OffloadModule::attention_inputs)), key,
                        "Transformer Engine joins the norm with the projections behind it",
                        "choose both attn_norm and qkv_linear, or neither");
    modules.reset(at(OffloadModule::attention_norm));
  }
  require_expressible(job.model.mixture.experts > 0 || !modules.test(at(OffloadModule::mlp_norm)), key,
                      "Transformer Engine joins the norm with the product behind it", "leave mlp_norm out");
  std::vector<std::string> names;
  for (std::size_t module = 0; module < offload_module_names().size(); ++module) {
    if (modules.test(module)) names.push_back(offload_module_names()[module]);
  }
  out.flag("--fine-grained-activation-offloading");
  out.words("--offload-modules", std::move(names));
}

// Adds sharding: ZeRO 1 is the distributed optimizer, 2 and 3 are Megatron FSDP, which overlaps by itself.
void add_sharding(LaunchOptions& out, const Job& job) {
  const Strategy& s = job.strategy;
  const bool muon = job.training.optimizer == Optimizer::muon;  // dist_muon divides matrices by itself
  if (s.zero > 0 && !muon) out.flag("--use-distributed-optimizer");
  if (job.training.narrow_states()) out.flag("--use-precision-aware-optimizer");
  if (s.shards() > 1 && s.shards() < s.replicas()) {
    out.value("--num-distributed-optimizer-instances", s.replicas() / s.shards());
  }
  if (s.zero < 2) return;
  out.flag("--overlap-grad-reduce");
  out.flag("--overlap-param-gather");
}

// True if one queue of kernels is needed: before Blackwell, tensor and context parallelism need one queue; Megatron
// FSDP needs several.
bool wants_one_queue(const Strategy& s) { return s.zero < 2 && (s.tensor > 1 || s.context > 1); }

}  // namespace

LaunchOptions megatron_options(const Job& job, const OptionList& list, const MegatronStyle& style) {
  require_possible(job, list, style.by_recipe ? "model." : "");
  require_strategy(job);
  LaunchOptions out;
  add_megatron_model(out, job, style);
  add_chunks(out, job, style);
  add_context(out, job.strategy);
  add_recomputation(out, job.strategy, style);
  add_offloaded_modules(out, job);
  add_sharding(out, job);
  add_megatron_training(out, job, style);
  return written_options(job, list, std::move(out));
}

std::vector<std::pair<std::string, std::string>> megatron_environment(const Job& job) {
  if (!wants_one_queue(job.strategy)) return {};
  return {{"CUDA_DEVICE_MAX_CONNECTIONS", "1"}};
}

std::vector<std::string> megatron_unset(const Job& job) {
  if (job.strategy.zero < 2) return {};
  return {"CUDA_DEVICE_MAX_CONNECTIONS"};
}

LaunchProgram megatron_program(const Job& job, const std::filesystem::path& hardware) {
  const OptionList& list = option_list(hardware, "megatron");
  LaunchProgram out;
  out.start = {"pretrain_gpt.py"};
  out.comments = {list.title(), world_comment(job)};
  out.options = megatron_options(job, list, {});
  out.environment = megatron_environment(job);
  out.unset = megatron_unset(job);
  list.require(out.options);
  return out;
}

}  // namespace mirfak
