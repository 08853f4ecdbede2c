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
  const SlidingWindow& window = model.window;
  const bool full = layer < window.full_first || (window.full_every > 0 && (layer + 1) % window.full_every == 0);
  if (!full) kind.window = window.tokens;
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

}  // namespace mirfak
