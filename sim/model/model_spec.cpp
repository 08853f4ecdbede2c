#include "model/model_spec.hpp"

#include <algorithm>

namespace mirfak {

LayerKind kind_of_layer(const ModelSpec& model, std::int64_t layer) {
  if (!model.blocks.empty()) {
    std::size_t place = 1;
    while (layer >= model.blocks[place].count) layer -= model.blocks[place++].count;
    LayerKind kind;
    kind.block = model.blocks[place].kind;
    return kind;
  }
  const MixtureOfExperts& mixture = model.mixture;
  LayerKind kind;
  kind.experts =
      mixture.experts > 0 && layer >= mixture.first_dense && (layer - mixture.first_dense + 1) % mixture.every == 0;
  const bool full = model.window.full_every > 0 && (layer + 1) % model.window.full_every == 0;
  if (!full) kind.window = model.window.tokens;
  return kind;
}

std::vector<LayerKind> layer_kinds(const ModelSpec& model) {
  std::vector<LayerKind> kinds;
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    const LayerKind kind = kind_of_layer(model, layer);
    if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) kinds.push_back(kind);
  }
  return kinds;
}

namespace {

double norm_parameters(const ModelSpec& model) {
  const auto hidden = static_cast<double>(model.hidden);
  return model.normalization == Normalization::layer_norm ? 2 * hidden : hidden;
}

double product(std::int64_t a, std::int64_t b) { return static_cast<double>(a) * static_cast<double>(b); }

double latent_attention_parameters(const ModelSpec& model) {
  const LatentAttention& latent = model.latent;
  const std::int64_t content = model.head_dim - latent.position_dim;
  const double queries = latent.query_rank > 0
                             ? product(latent.query_rank, model.hidden + 1 + model.heads * model.head_dim)
                             : product(model.hidden, model.heads * model.head_dim);
  return queries + product(model.hidden, latent.key_value_rank + latent.position_dim) +
         product(latent.key_value_rank, 1 + model.heads * (content + latent.value_dim)) +
         product(model.heads * latent.value_dim, model.hidden);
}

double attention_parameters(const ModelSpec& model) {
  if (model.latent.key_value_rank > 0) return latent_attention_parameters(model);
  const auto hidden = static_cast<double>(model.hidden);
  const double query = product(model.heads, model.head_dim);
  const double query_key_value = query + 2 * product(model.kv_heads, model.head_dim);
  return hidden * query_key_value + (model.qkv_bias ? query_key_value : 0) +  //
         query * hidden + (model.linear_bias ? hidden : 0) +                  //
         (model.qk_norm ? 2 * static_cast<double>(model.head_dim) : 0);
}

double mlp_parameters(const ModelSpec& model, std::int64_t inner) {
  const auto hidden = static_cast<double>(model.hidden);
  const auto ffn = static_cast<double>(inner);
  const double inward = model.gated() ? 2 : 1;
  return (inward + 1) * hidden * ffn + (model.linear_bias ? inward * ffn + hidden : 0);
}

// The router, `experts` of the experts and the shared ones.
double mixture_parameters(const ModelSpec& model, std::int64_t experts) {
  const MixtureOfExperts& mixture = model.mixture;
  const double router =
      product(model.hidden, mixture.experts) + (model.linear_bias ? static_cast<double>(mixture.experts) : 0);
  const double shared = mixture.shared_ffn > 0 ? mlp_parameters(model, mixture.shared_ffn) : 0;
  return router + static_cast<double>(experts) * mlp_parameters(model, mixture.ffn) + shared;
}

// The dense layer, its norm and the bias of every word; the pooler and the classifier of sentence pairs.
double masked_head_parameters(const ModelSpec& model) {
  const double dense = product(model.hidden, model.hidden + 1);
  double count = 0;
  if (model.masked_share > 0) count += dense + norm_parameters(model) + static_cast<double>(model.vocab);
  if (model.sentence_pairs) count += dense + product(2, model.hidden + 1);
  return count;
}

}  // namespace

namespace {

ParameterCount count_blocks(const ModelSpec& model) {
  ParameterCount count;
  count.embedding = model.blocks.front().parameters;
  count.head = model.blocks.back().parameters;
  for (const ModelBlock& item : model.blocks) {
    count.total += static_cast<double>(item.count) * item.parameters;
    count.active += static_cast<double>(item.count) * item.active_parameters;
  }
  count.layer = (count.total - count.embedding - count.head) / static_cast<double>(model.layers);
  return count;
}

}  // namespace

ParameterCount count_parameters(const ModelSpec& model) {
  if (!model.blocks.empty()) return count_blocks(model);
  const auto hidden = static_cast<double>(model.hidden);
  const double words = static_cast<double>(model.vocab) * hidden;
  const double norm = norm_parameters(model);
  ParameterCount count;
  count.embedding = words;
  if (model.position == PositionEncoding::learned) count.embedding += static_cast<double>(model.max_sequence) * hidden;
  if (model.sentence_pairs) count.embedding += 2 * hidden;
  if (model.embedding_norm) count.embedding += norm;
  double layers = 0;
  double active = 0;
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    const bool experts = kind_of_layer(model, layer).experts;
    const double common = attention_parameters(model) + 2 * norm + (experts ? 0 : mlp_parameters(model, model.ffn));
    layers += common + (experts ? mixture_parameters(model, model.mixture.experts) : 0);
    active += common + (experts ? mixture_parameters(model, model.mixture.per_token) : 0);
  }
  count.layer = layers / static_cast<double>(model.layers);
  count.head = (model.post_norm ? 0 : norm) + (model.tied_embeddings ? 0 : words) + masked_head_parameters(model);
  count.total = count.embedding + layers + count.head;
  count.active = count.embedding + active + count.head;
  return count;
}

}  // namespace mirfak
