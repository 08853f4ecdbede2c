#include "launch/megatron_model.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

namespace mirfak {

namespace {

void require_decoder(const ModelSpec& model) {
  require_expressible(model.causal, "model.causal", "pretrain_gpt.py trains decoders only", "");
  require_expressible(!model.post_norm, "model.post_norm", "Megatron-LM normalizes in front of attention and MLP", "");
  require_expressible(!model.embedding_norm, "model.embedding_norm", "Megatron-LM does not normalize embeddings", "");
}

void add_sizes(LaunchOptions& out, const Job& job) {
  const ModelSpec& model = job.model;
  out.value("--num-layers", model.layers);
  out.value("--hidden-size", model.hidden);
  out.value("--ffn-hidden-size", model.ffn);
  out.value("--num-attention-heads", model.heads);
  if (model.kv_heads != model.heads) {
    out.flag("--group-query-attention");
    out.value("--num-query-groups", model.kv_heads);
  }
  const bool latent = model.latent.key_value_rank > 0;
  if (!latent && model.head_dim * model.heads != model.hidden) out.value("--kv-channels", model.head_dim);
  out.value("--padded-vocab-size", model.vocab);
  out.value("--seq-length", job.training.sequence_length);
  out.value("--max-position-embeddings", std::max(model.max_sequence, job.training.sequence_length));
}

void add_activation(LaunchOptions& out, ActivationFunction activation) {
  const bool known = activation != ActivationFunction::geglu && activation != ActivationFunction::relu;
  require_expressible(known, "model.activation", "Megatron-LM has gelu, swiglu and squared_relu", "");
  if (activation == ActivationFunction::swiglu) out.flag("--swiglu");
  if (activation == ActivationFunction::squared_relu) out.flag("--squared-relu");
}

void add_parts(LaunchOptions& out, const ModelSpec& model) {
  add_activation(out, model.activation);
  require_expressible(model.activation_limit == 0, "model.activation_limit",
                      "Megatron-LM's arguments clamp no activation: its configurations in Python do", "");
  out.value("--normalization", model.normalization == Normalization::rms_norm ? "RMSNorm" : "LayerNorm");
  require_expressible(model.position != PositionEncoding::alibi, "model.position", "Megatron-LM has no ALiBi", "");
  constexpr std::array<std::string_view, 3> positions = {"none", "learned_absolute", "rope"};
  out.value("--position-embedding-type", positions.at(static_cast<std::size_t>(model.position)));
  require_expressible(model.qkv_bias || !model.linear_bias, "model.qkv_bias",
                      "Megatron-LM's linear layers have biases in the query, key and value projections too", "");
  if (!model.linear_bias) out.flag("--disable-bias-linear");
  if (model.qkv_bias && !model.linear_bias) out.flag("--add-qkv-bias");
  if (!model.tied_embeddings) out.flag("--untie-embeddings-and-output-weights");
  if (model.qk_norm) out.flag("--qk-layernorm");
  out.value("--attention-dropout", model.dropout);
  out.value("--hidden-dropout", model.dropout);
  if (model.prediction_layers > 0) out.value("--mtp-num-layers", model.prediction_layers);
}

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
  if (model.latent.key_value_rank > 0) {
    const LatentAttention& latent = model.latent;
    out.flag("--multi-latent-attention");
    if (latent.query_rank > 0) out.value("--q-lora-rank", latent.query_rank);
    out.value("--kv-lora-rank", latent.key_value_rank);
    out.value("--qk-head-dim", model.head_dim - latent.position_dim);
    out.value("--qk-pos-emb-head-dim", latent.position_dim);
    out.value("--v-head-dim", latent.value_dim);
  }
  if (model.window.tokens > 0) {
    const std::string sides = fmt::format("{},0", model.window.tokens - 1);  // without the token itself
    out.value("--window-size", style.fields ? "[" + sides + "]" : sides);
    if (model.window.full_first > 0) {
      out.value("--window-attn-skip-freq", windowed_layers(model, style.fields));
    } else if (model.window.full_every > 0) {
      out.value("--window-attn-skip-freq", model.window.full_every);
    }
  }
  if (model.sinks) out.value("--softmax-type", "learnable");
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

void add_mixture(LaunchOptions& out, const ModelSpec& model, const MegatronStyle& style) {
  const MixtureOfExperts& mixture = model.mixture;
  if (mixture.experts == 0) return;
  out.value("--num-experts", mixture.experts);
  out.value("--moe-router-topk", mixture.per_token);
  if (mixture.groups > mixture.groups_per_token) {
    out.value("--moe-router-num-groups", mixture.groups);
    out.value("--moe-router-group-topk", mixture.groups_per_token);
  }
  out.value("--moe-ffn-hidden-size", mixture.ffn);
  if (mixture.shared_ffn > 0) out.value("--moe-shared-expert-intermediate-size", mixture.shared_ffn);
  if (mixture.first_dense > 0 || mixture.every > 1) out.value("--moe-layer-freq", expert_layers(model, style.fields));
  out.flag("--moe-grouped-gemm");
}

void add_scaling(LaunchOptions& out, const PrecisionRecipe& recipe) {
  switch (recipe.scaling) {
    case Scaling::none:
      return;
    case Scaling::delayed:
      out.value("--fp8-format", "hybrid");
      out.value("--fp8-recipe", "delayed");
      break;
    case Scaling::current:
      out.value("--fp8-format", "hybrid");
      out.value("--fp8-recipe", "tensorwise");
      break;
    case Scaling::block:
      out.value("--fp8-format", "e4m3");
      out.value("--fp8-recipe", "blockwise");
      break;
    case Scaling::micro:
      out.value("--fp8-format", "e4m3");
      out.value("--fp8-recipe", "mxfp8");
      break;
    case Scaling::nested:
      out.value("--fp4-format", "e2m1");
      out.value("--fp4-recipe", "nvfp4");
      break;
  }
  if (recipe.layers_kept_first == 0 && recipe.layers_kept_last == 0) return;
  out.flag("--first-last-layers-bf16");
  out.value("--num-layers-at-start-in-bf16", recipe.layers_kept_first);
  out.value("--num-layers-at-end-in-bf16", recipe.layers_kept_last);
}

void add_precision(LaunchOptions& out, const Job& job) {
  const PrecisionRecipe& recipe = job.recipe();
  require_expressible(recipe.name != "tf32", "training.precision", "Megatron-LM has no argument for TF32",
                      "choose fp32 or bf16");
  if (recipe.activations == "bf16") out.flag("--bf16");
  if (recipe.activations == "fp16") out.flag("--fp16");
  add_scaling(out, recipe);
  const bool wide_gradients = gradient_bytes(job) > 2;
  if (recipe.activations == "bf16" && !wide_gradients) out.flag("--grad-reduce-in-bf16");
  if (recipe.activations == "fp16" && wide_gradients) out.flag("--accumulate-allreduce-grads-in-fp32");
  if (job.training.fp8_parameters && recipe.narrow()) {
    require_expressible(job.strategy.zero > 0, "training.fp8_parameters",
                        "Megatron-LM keeps narrow parameters with a sharded optimizer only", "set strategy.zero: 1");
    out.flag(recipe.scaling == Scaling::nested ? "--fp4-param-gather" : "--fp8-param-gather");
  }
  require_expressible(!job.training.fp8_activation_input, "training.fp8_activation_input",
                      "Megatron-LM has no argument for it (activation_func_fp8_input_store)", "leave it out");
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
  require_decoder(job.model);
  add_sizes(out, job);
  add_parts(out, job.model);
  add_attention(out, job.model, style);
  add_mixture(out, job.model, style);
}

void add_megatron_training(LaunchOptions& out, const Job& job, const MegatronStyle& style) {
  require_expressible(job.training.adapters.rank == 0, "training.lora", "pretrain_gpt.py trains whole models", "");
  const Optimizer optimizer = job.training.optimizer;
  const bool known = optimizer == Optimizer::adam || optimizer == Optimizer::sgd || optimizer == Optimizer::muon;
  require_expressible(known, "training.optimizer", "Megatron-LM has adam, sgd and muon", "choose one of them");
  out.value("--optimizer", optimizer_argument(job));
  add_precision(out, job);
  add_graphs(out, job.training.cuda_graphs);
  add_kernels(out, job.framework, style);
}

}  // namespace mirfak
