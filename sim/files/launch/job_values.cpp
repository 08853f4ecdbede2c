#include "launch/job_values.hpp"

#include "base/error.hpp"
#include "scenario/training_section.hpp"
#include "strategy/rules.hpp"
#include "strategy/strategy_keys.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <vector>

namespace mirfak {

namespace {

struct JobKey {
  std::string_view key;
  std::string (*value)(const Job& job);
};

struct ModelKey {
  std::string_view key;
  std::string (*value)(const ModelSpec& model);
};

// A key whose value follows from the strategy.
struct StrategyFigure {
  std::string_view key;
  std::string (*value)(const Job& job, const Strategy& strategy);
};

template <typename T>
std::string text(const T& value) {
  return fmt::format("{}", value);
}

template <typename T, std::size_t count>
std::string word(const std::string_view (&names)[count], T value) {
  return std::string(names[static_cast<std::size_t>(value)]);
}

std::string position_word(PositionEncoding position) { return word({"none", "learned", "rotary", "alibi"}, position); }

std::string graphs_text(const CudaGraphs& graphs) {
  if (graphs.iteration) return "full";
  std::vector<std::string_view> parts;
  if (graphs.attention) parts.emplace_back("attention");
  if (graphs.mlp) parts.emplace_back("mlp");
  if (graphs.router) parts.emplace_back("router");
  return parts.empty() ? "" : fmt::format("[{}]", fmt::join(parts, ", "));
}

std::string gradients_text(const Job& job) {
  if (gradient_bytes(job) == 4) return "fp32";
  return job.recipe().activations == "fp16" ? "fp16" : "bf16";
}

constexpr ModelKey kModelKeys[] = {
    {"model.layers", [](const ModelSpec& model) { return text(model.layers); }},
    {"model.hidden", [](const ModelSpec& model) { return text(model.hidden); }},
    {"model.heads", [](const ModelSpec& model) { return text(model.heads); }},
    {"model.kv_heads", [](const ModelSpec& model) { return text(model.kv_heads); }},
    {"model.head_dim", [](const ModelSpec& model) { return text(model.head_dim); }},
    {"model.ffn", [](const ModelSpec& model) { return text(model.ffn); }},
    {"model.vocab", [](const ModelSpec& model) { return text(model.vocab); }},
    {"model.max_sequence", [](const ModelSpec& model) { return text(model.max_sequence); }},
    {"model.activation",
     [](const ModelSpec& model) {
       return word({"gelu", "relu", "swiglu", "geglu", "squared_relu"}, model.activation);
     }},
    {"model.normalization",
     [](const ModelSpec& model) {
       return word({"layer_norm", "rms_norm"}, model.normalization);
     }},
    {"model.position", [](const ModelSpec& model) { return position_word(model.position); }},
    {"model.linear_bias", [](const ModelSpec& model) { return text(model.linear_bias); }},
    {"model.qkv_bias", [](const ModelSpec& model) { return text(model.qkv_bias); }},
    {"model.tied_embeddings", [](const ModelSpec& model) { return text(model.tied_embeddings); }},
    {"model.causal", [](const ModelSpec& model) { return text(model.causal); }},
    {"model.post_norm", [](const ModelSpec& model) { return text(model.post_norm); }},
    {"model.embedding_norm", [](const ModelSpec& model) { return text(model.embedding_norm); }},
    {"model.qk_norm", [](const ModelSpec& model) { return text(model.qk_norm); }},
    {"model.sinks", [](const ModelSpec& model) { return text(model.sinks); }},
    {"model.activation_limit", [](const ModelSpec& model) { return text(model.activation_limit); }},
    {"model.dropout", [](const ModelSpec& model) { return text(model.dropout); }},
    {"model.prediction_layers", [](const ModelSpec& model) { return text(model.prediction_layers); }},
    {"model.latent_attention.query_rank", [](const ModelSpec& model) { return text(model.latent.query_rank); }},
    {"model.latent_attention.key_value_rank", [](const ModelSpec& model) { return text(model.latent.key_value_rank); }},
    {"model.latent_attention.position_dim", [](const ModelSpec& model) { return text(model.latent.position_dim); }},
    {"model.latent_attention.value_dim", [](const ModelSpec& model) { return text(model.latent.value_dim); }},
    {"model.sliding_window.tokens", [](const ModelSpec& model) { return text(model.window.tokens); }},
    {"model.experts.count", [](const ModelSpec& model) { return text(model.mixture.experts); }},
    {"model.experts.per_token", [](const ModelSpec& model) { return text(model.mixture.per_token); }},
    {"model.experts.groups", [](const ModelSpec& model) { return text(model.mixture.groups); }},
    {"model.experts.groups_per_token", [](const ModelSpec& model) { return text(model.mixture.groups_per_token); }},
    {"model.experts.ffn", [](const ModelSpec& model) { return text(model.mixture.ffn); }},
    {"model.experts.shared_ffn", [](const ModelSpec& model) { return text(model.mixture.shared_ffn); }},
    {"model.experts.first_dense", [](const ModelSpec& model) { return text(model.mixture.first_dense); }},
    {"model.experts.every", [](const ModelSpec& model) { return text(model.mixture.every); }},
};

constexpr JobKey kKeys[] = {
    {"training.global_batch", [](const Job& job) { return text(job.training.global_batch); }},
    {"training.sequence_length", [](const Job& job) { return text(job.training.sequence_length); }},
    {"training.precision", [](const Job& job) { return job.training.precision; }},
    {"training.gradient_precision", gradients_text},
    {"training.fp8_parameters", [](const Job& job) { return text(job.training.fp8_parameters); }},
    {"training.fp8_attention", [](const Job& job) { return text(job.training.fp8_attention); }},
    {"training.fp8_activation_input", [](const Job& job) { return text(job.training.fp8_activation_input); }},
    {"training.first_moment", [](const Job& job) { return job.training.first_moment; }},
    {"training.second_moment", [](const Job& job) { return job.training.second_moment; }},
    {"training.main_parameters", [](const Job& job) { return job.training.main_parameters; }},
    {"training.expert_capacity_factor",
     [](const Job& job) { return fmt::format("{}", job.training.expert_capacity_factor); }},
    {"training.pad_to_capacity", [](const Job& job) { return text(job.training.pad_to_capacity); }},
    {"training.cuda_graphs", [](const Job& job) { return graphs_text(job.training.cuda_graphs); }},
    {"training.lora", [](const Job& job) { return text(job.training.adapters.rank); }},
    {"training.low_rank_gradients", [](const Job& job) { return text(job.training.low_rank_gradients.rank); }},
    {"training.preferences", [](const Job& job) { return text(job.training.preferences.any() ? 1 : 0); }},
    {"training.local_steps", [](const Job& job) { return text(job.training.local_steps.learners); }},
    {"training.loss_chunks", [](const Job& job) { return text(job.training.loss_chunks); }},
    {"training.optimizer",
     [](const Job& job) { return optimizer_names()[static_cast<std::size_t>(job.training.optimizer)]; }},
    {"derived.even_head_dim", [](const Job& job) { return text(job.model.hidden / job.model.heads); }},
    {"recipe.activations", [](const Job& job) { return job.recipe().activations; }},
    {"recipe.scaling",
     [](const Job& job) {
       return word({"none", "delayed", "current", "rows", "block", "micro", "nested"}, job.recipe().scaling);
     }},
};

constexpr StrategyFigure kFigures[] = {
    {"derived.ranks", [](const Job& /*job*/, const Strategy& of) { return text(of.ranks()); }},
    {"derived.replicas", [](const Job& /*job*/, const Strategy& of) { return text(of.replicas()); }},
    {"derived.shards", [](const Job& /*job*/, const Strategy& of) { return text(of.shards()); }},
    {"derived.microbatches", [](const Job& job, const Strategy& of) { return text(microbatches(of, job.training)); }},
};

}  // namespace

std::string model_value(const ModelSpec& model, std::string_view key) {
  const auto* const at =
      std::find_if(std::begin(kModelKeys), std::end(kModelKeys), [&](const ModelKey& one) { return one.key == key; });
  if (at == std::end(kModelKeys)) fail_internal(fmt::format("a model has no value of {}", key));
  return at->value(model);
}

std::string job_value(const Job& job, std::string_view key) { return job_value(job, job.strategy, key); }

std::string job_value(const Job& job, const Strategy& strategy, std::string_view key) {
  constexpr std::string_view kStrategy = "strategy.";
  if (key.starts_with(kStrategy)) {
    for (const StrategyKey& one : strategy_keys()) {
      if (one.key == key.substr(kStrategy.size())) return one.left_out(strategy) ? "" : one.text(strategy);
    }
  }
  for (const StrategyFigure& one : kFigures) {
    if (one.key == key) return one.value(job, strategy);
  }
  if (key.starts_with("model.")) return model_value(job.model, key);
  const auto* const at =
      std::find_if(std::begin(kKeys), std::end(kKeys), [&](const JobKey& one) { return one.key == key; });
  if (at == std::end(kKeys)) fail_internal(fmt::format("a job has no value of {}", key));
  return at->value(job);
}

}  // namespace mirfak
