// Parameters of a model, counted in its blocks.

#include "block/measures.hpp"
#include "model/blocks.hpp"
#include "model/model_spec.hpp"

#include <algorithm>

namespace mirfak {

namespace {

ParameterCount count_stated_blocks(const ModelSpec& model) {
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
  if (!model.blocks.empty()) return count_stated_blocks(model);
  BlockOptions options;
  options.sequence = 1;
  options.kv_heads = model.kv_heads;
  options.vocabulary = model.vocab;
  options.fused_attention = true;
  ParameterCount count;
  count.embedding = block::parameters(build_embedding_block(model, options));
  count.head = block::parameters(build_head_block(model, options));
  double layers = 0;
  double active = 0;
  for (const LayerKind& kind : layer_kinds(model)) {
    double alike = 0;
    for (std::int64_t layer = 0; layer < model.layers; ++layer) alike += kind_of_layer(model, layer) == kind ? 1 : 0;
    const OperatorGraph graph = build_layer_block(model, options, kind);
    layers += alike * block::parameters(graph);
    active += alike * block::active_parameters(graph);
  }
  if (model.prediction_layers > 0) {
    const LayerKind last = kind_of_layer(model, model.layers - 1);
    // Embedding and head are shared with the model.
    const double tables = static_cast<double>(model.vocab) * static_cast<double>(model.hidden);
    count.prediction = static_cast<double>(model.prediction_layers) *
                       (block::parameters(build_prediction_block(model, options, last)) - tables);
  }
  count.layer = layers / static_cast<double>(model.layers);
  count.total = count.embedding + layers + count.head;
  count.active = count.embedding + active + count.head;
  return count;
}

}  // namespace mirfak
