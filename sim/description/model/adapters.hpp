#pragma once

#include <string>
#include <vector>

namespace mirfak {

// Format in which the frozen weights of linear layers are kept (QLoRA, arXiv 2305.14314). A kernel widens a weight in
// front of each product that reads the weight, forward and backward.
enum class FrozenBase {
  as_trained,  // in the precision of training
  nf4,         // 4 bits, with an fp32 constant for each block of 64
  nf4_double,  // ... whose constants are kept in 8 bits, with an fp32 constant for each 256 of these
  int8,        // 8 bits (LLM.int8(), arXiv 2208.07339)
};
const std::vector<std::string>& frozen_base_names();  // in the order of FrozenBase

struct NarrowWeights;  // graph/dequantization.hpp
// Returns the size of frozen weights in a format and the kernels that widen them; 0 bytes: they are as trained.
NarrowWeights frozen_weights(FrozenBase base);

// Parts of a model that are trained whole beside adapters (PEFT's `modules_to_save`; a projector beside adapters in the
// decoder, as LLaVA trains it). A second, frozen copy of word embeddings and head stays in memory, as PEFT keeps it.
struct WholeParts {
  bool embedding = false;  // of words
  bool head = false;       // the matrix, without the norm in front of it
  bool projector = false;  // between a tower for images and words
  bool tower = false;

  bool any() const { return embedding || head || projector || tower; }
  friend bool operator==(const WholeParts&, const WholeParts&) = default;
};

// Low-rank adapters (LoRA, arXiv 2106.09685): y = x W + dropout(x) A B next to linear layers of the transformer, A with
// `rank` columns. Only adapters and `whole` parts are trained: all other parameters are frozen, have no gradient and no
// optimizer state, and pass gradients of activations on.
struct LowRankAdapters {
  int rank = 0;        // 0: no adapters, the whole model is trained
  double dropout = 0;  // dropout of the input of A
  // Linear layers that have an adapter.
  bool query_key_value = false;
  bool attention_output = false;
  bool mlp_up = false;
  bool mlp_down = false;
  FrozenBase base = FrozenBase::as_trained;
  // DoRA (arXiv 2402.09353): y = m / |W + A B| (x W + x A B), with a trained magnitude m for each column of W.
  bool decomposed = false;
  WholeParts whole = {};

  friend bool operator==(const LowRankAdapters&, const LowRankAdapters&) = default;
};

}  // namespace mirfak
