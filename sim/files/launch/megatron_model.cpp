#include "launch/megatron_options.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace mirfak {

namespace {

// Returns 1 for layers with a window: a list, or a shorter Python expression for the list.
std::string windowed_layers(const ModelSpec& model, bool list_only) {
  const SlidingWindow& window = model.window;
  if (!list_only && window.full_every == 0) {
    return fmt::format("([0]*{}+[1]*{})", window.full_first, model.layers - window.full_first);
  }
  std::string list;
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    list += fmt::format("{}{}", layer > 0 ? "," : "", kind_of_layer(model, layer).window > 0 ? 1 : 0);
  }
  return fmt::format("[{}]", list);
}

void add_attention(LaunchOptions& out, const ModelSpec& model, const MegatronStyle& style) {
  const bool latent = model.latent.key_value_rank > 0;
  if (!latent && model.head_dim * model.heads != model.hidden) out.value("--kv-channels", model.head_dim);
  if (latent) out.value("--qk-head-dim", model.head_dim - model.latent.position_dim);
  if (model.window.tokens == 0) return;
  const std::string sides = fmt::format("{},0", model.window.tokens - 1);  // without the token itself
  out.value("--window-size", style.fields ? "[" + sides + "]" : sides);
  if (model.window.full_first > 0) {
    out.value("--window-attn-skip-freq", windowed_layers(model, style.fields));
  } else if (model.window.full_every > 0) {
    out.value("--window-attn-skip-freq", model.window.full_every);
  }
}

// Returns 1 for layers with experts: a list, or a shorter Python expression for the list.
std::string expert_layers(const ModelSpec& model, bool list_only) {
  const MixtureOfExperts& mixture = model.mixture;
  std::string list;
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    list += fmt::format("{}{}", layer > 0 ? "," : "", kind_of_layer(model, layer).experts ? 1 : 0);
  }
  if (mixture.every > 1 || list_only) return fmt::format("[{}]", list);
  return fmt::format("([0]*{}+[1]*{})", mixture.first_dense, model.layers - mixture.first_dense);
}

void add_gradients(LaunchOptions& out, const Job& job) {
  const std::string& activations = job.recipe().activations;
  const bool wide = gradient_bytes(job) > 2;
  if (activations == "bf16" && !wide) out.flag("--grad-reduce-in-bf16");
  if (activations == "fp16" && wide) out.flag("--accumulate-allreduce-grads-in-fp32");
}

void add_graphs(LaunchOptions& out, const CudaGraphs& graphs) {
  if (!graphs.any()) return;
  out.value("--cuda-graph-impl", graphs.iteration ? "full_iteration" : "transformer_engine");
  if (graphs.iteration) {
    out.flag("--no-check-for-nan-in-loss-and-grad");
    return;
  }
  std::vector<std::string> modules;
  if (graphs.attention) modules.emplace_back("attn");
  if (graphs.mlp) modules.emplace_back("mlp");
  if (graphs.router) modules.emplace_back("moe_router");
  out.words("--cuda-graph-modules", std::move(modules));
}

// Adds arguments for kernels of Megatron Core if the framework has other kernels than by default.
void add_kernels(LaunchOptions& out, const Framework& framework, const MegatronStyle& style) {
  if (!framework.is_like("megatron-core")) return;
  if (framework.fusion.cross_entropy) out.flag("--cross-entropy-loss-fusion");
  if (style.fields) return;
  const bool unfused = framework.fusion.attention.empty();
  const bool local = unfused && framework.fusion.norms == NormKernels::separate;
  if (local) out.value("--transformer-impl", "local");
  if (unfused && !local) out.value("--attention-backend", "unfused");
}

// Returns the optimizer's name; Muon with whole matrices divided over data-parallel ranks has a name of its own.
std::string optimizer_argument(const Job& job) {
  if (job.training.optimizer == Optimizer::adam) return "adam";
  if (job.training.optimizer == Optimizer::sgd) return "sgd";
  return job.strategy.zero == 1 ? "dist_muon" : "muon";
}

}  // namespace

void add_megatron_model(LaunchOptions& out, const Job& job, const MegatronStyle& style) {
  const ModelSpec& model = job.model;
  out.value("--max-position-embeddings", std::max(model.max_sequence, job.training.sequence_length));
  add_attention(out, model, style);
  const MixtureOfExperts& mixture = model.mixture;
  const bool all_layers = mixture.first_dense == 0 && mixture.every == 1;
  if (mixture.experts > 0 && !all_layers) out.value("--moe-layer-freq", expert_layers(model, style.fields));
}

void add_megatron_training(LaunchOptions& out, const Job& job, const MegatronStyle& style) {
  out.value("--optimizer", optimizer_argument(job));
  add_gradients(out, job);
  add_graphs(out, job.training.cuda_graphs);
  add_kernels(out, job.framework, style);
}

}  // namespace mirfak
