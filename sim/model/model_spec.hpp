#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mirfak {

enum class ActivationFunction { gelu, relu, swiglu, geglu, squared_relu };
enum class Normalization { layer_norm, rms_norm };
enum class PositionEncoding { none, learned, rotary, alibi };

// The architecture of a dense decoder-only transformer. All sizes are counts.
struct ModelSpec {
  std::string name;    // "gpt3-175b"
  std::string family;  // "gpt", "llama", "bloom", "opt": informative only, nothing is decided by it
  std::string source;  // where the figures come from
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;      // == heads without grouped-query attention; divides heads
  std::int64_t head_dim = 0;      // hidden / heads unless stated
  std::int64_t ffn = 0;           // inner size of the MLP (of each of the two halves when gated)
  std::int64_t vocab = 0;         // as trained, padding included
  std::int64_t max_sequence = 0;  // positions the model was made for: the default sequence length
  ActivationFunction activation = ActivationFunction::gelu;
  Normalization normalization = Normalization::layer_norm;
  PositionEncoding position = PositionEncoding::learned;
  bool linear_bias = true;      // biases in attention output and MLP projections
  bool qkv_bias = true;         // biases in the query, key and value projections
  bool tied_embeddings = true;  // the output projection is the transposed input embedding
  bool embedding_norm = false;  // BLOOM normalises the word embeddings
  double dropout = 0;           // of attention probabilities and of both residual branches, when trained

  bool gated() const { return activation == ActivationFunction::swiglu || activation == ActivationFunction::geglu; }
};

// What tells a layer of a model from its other layers. Layers of one kind are equal.
struct LayerKind {
  friend bool operator==(const LayerKind&, const LayerKind&) = default;
};
LayerKind kind_of_layer(const ModelSpec& model, std::int64_t layer);
// The kinds that a model has, each once, in the order of their first layers.
std::vector<LayerKind> layer_kinds(const ModelSpec& model);

// Parameters of the parts of a model, biases and norm weights included; total = embedding + layers * layer + head.
struct ParameterCount {
  double embedding = 0;  // word and learned position embeddings, embedding norm
  double layer = 0;      // one transformer layer
  double head = 0;       // final norm, and the output projection unless it is tied
  double total = 0;
};
ParameterCount count_parameters(const ModelSpec& model);

}  // namespace mirfak
