#include "model/model_spec.hpp"

#include <algorithm>

namespace mirfak {

LayerKind kind_of_layer(const ModelSpec& /*model*/, std::int64_t /*layer*/) { return {}; }

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

double attention_parameters(const ModelSpec& model) {
  const auto hidden = static_cast<double>(model.hidden);
  const double query = static_cast<double>(model.heads) * static_cast<double>(model.head_dim);
  const double query_key_value = query + 2 * static_cast<double>(model.kv_heads) * static_cast<double>(model.head_dim);
  return hidden * query_key_value + (model.qkv_bias ? query_key_value : 0) +  //
         query * hidden + (model.linear_bias ? hidden : 0);
}

double mlp_parameters(const ModelSpec& model) {
  const auto hidden = static_cast<double>(model.hidden);
  const auto ffn = static_cast<double>(model.ffn);
  const double inward = model.gated() ? 2 : 1;
  return (inward + 1) * hidden * ffn + (model.linear_bias ? inward * ffn + hidden : 0);
}

}  // namespace

ParameterCount count_parameters(const ModelSpec& model) {
  const auto hidden = static_cast<double>(model.hidden);
  const double words = static_cast<double>(model.vocab) * hidden;
  const double norm = norm_parameters(model);
  ParameterCount count;
  count.embedding = words;
  if (model.position == PositionEncoding::learned) count.embedding += static_cast<double>(model.max_sequence) * hidden;
  if (model.embedding_norm) count.embedding += norm;
  count.layer = attention_parameters(model) + mlp_parameters(model) + 2 * norm;
  count.head = norm + (model.tied_embeddings ? 0 : words);
  count.total = count.embedding + static_cast<double>(model.layers) * count.layer + count.head;
  return count;
}

}  // namespace mirfak
