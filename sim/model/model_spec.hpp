#pragma once

#include "block/file.hpp"
#include "graph/operator_graph.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace mirfak {

enum class ActivationFunction { gelu, relu, swiglu, geglu, squared_relu };
enum class Normalization { layer_norm, rms_norm };
enum class PositionEncoding { none, learned, rotary, alibi };

// A mixture of experts in place of the MLP: a router sends every token to a few of many small MLPs.
struct MixtureOfExperts {
  std::int64_t experts = 0;    // 0: the model has none
  std::int64_t per_token = 0;  // experts that a token visits (top k)
  std::int64_t groups = 1;     // of neighbouring experts, as many in each
  std::int64_t groups_per_token =
      1;                         // that hold all experts which a token visits (DeepSeek-V3, arXiv 2412.19437, 2.1.2)
  std::int64_t ffn = 0;          // inner size of each
  std::int64_t shared_ffn = 0;   // inner size of the shared experts together, which every token visits; 0: none
  std::int64_t first_dense = 0;  // leading layers that have a plain MLP
  std::int64_t every = 1;        // of the layers behind those each every-th has experts: 2 is plain, experts, plain ...
};

// Multi-head latent attention (arXiv 2405.04434): keys and values of all heads are made from one small latent vector of
// a token, and queries from another. Heads are head_dim = content + position wide for the products of queries and keys.
struct LatentAttention {
  std::int64_t key_value_rank = 0;  // 0: the model has none
  std::int64_t query_rank = 0;      // 0: queries are made from the residual stream
  std::int64_t position_dim = 0;    // the part of a head that rotary positions turn; keys share it among heads
  std::int64_t value_dim = 0;       // of a head
};

// Layers whose tokens attend to the last `tokens` tokens only.
struct SlidingWindow {
  std::int64_t tokens = 0;      // 0: the model has none
  std::int64_t full_every = 0;  // each full_every-th layer attends to all tokens; 0: none does
  std::int64_t full_first = 0;  // so do this many leading layers
};

// The head that a model ends in: a token's successor is predicted; a few labels of a sequence or of each token (reward
// models, classifiers); or nothing but the vector of a sequence's last token (models of embeddings).
enum class HeadKind { language, labels_of_sequences, labels_of_tokens, pooled };

struct Head {
  HeadKind kind = HeadKind::language;
  std::int64_t labels = 0;  // of the two kinds with labels
  bool bias = false;        // beside their weights
};

struct TransformerBlocks;

// A size of a block that follows from others: sequence / 4.
struct SizeFormula {
  std::string name;
  block::Size size;

  double evaluate(const block::Sizes& known) const;  // that has all names
  void names(std::set<std::string>& out) const;
};

// One block of a model that states its blocks, `count` times in a row.
struct ModelBlock {
  std::string name;  // as the file says: "t5.decoder", "./my_block.yaml"
  std::int64_t count = 1;
  std::size_t kind = 0;  // the place of the first block that is the same
  block::DefinitionPointer definition;
  std::vector<SizeFormula> formulas;  // of sizes stated for it alone, over those of the model, batch and sequence
  double parameters = 0;              // of one of them, as the file states its sizes
  double active_parameters = 0;       // that a token meets
};

// An axis that strategies may divide.
struct DividedAxis {
  std::string name;
  std::int64_t extent = 0;
  Parallelism divided_by{};

  friend bool operator==(const DividedAxis&, const DividedAxis&) = default;
};

// The architecture of a transformer of one stack, decoder or encoder; or, where it has `blocks`, of whatever these are:
// then layers, hidden, vocab, max_sequence and the experts of the mixture are read off them, heads, kv_heads and ffn
// are divisible by what divides all their axes, and all else is as if absent. All sizes are counts.
struct ModelSpec {
  std::string name;    // "gpt3-175b"
  std::string family;  // "gpt", "llama", "bloom", "opt": informative only, nothing is decided by it
  std::string source;  // where the figures come from
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;      // == heads without grouped-query attention; divides heads
  std::int64_t head_dim = 0;      // hidden / heads unless stated
  std::int64_t ffn = 0;           // inner size of the plain MLP (of each of the two halves when gated)
  std::int64_t vocab = 0;         // as trained, padding included
  std::int64_t max_sequence = 0;  // positions the model was made for: the default sequence length
  ActivationFunction activation = ActivationFunction::gelu;
  Normalization normalization = Normalization::layer_norm;
  PositionEncoding position = PositionEncoding::learned;
  bool linear_bias = true;      // biases in attention output and MLP projections
  bool qkv_bias = true;         // biases in the query, key and value projections
  bool tied_embeddings = true;  // the output projection is the transposed input embedding
  bool causal = true;           // tokens attend to those before them only; an encoder's attend to all
  bool post_norm = false;       // normalizations behind the residual additions (BERT), not before attention and MLP
  bool embedding_norm = false;  // BLOOM normalises the word embeddings
  bool qk_norm = false;         // queries and keys are normalised, each head by itself
  bool sinks = false;           // a learned logit of each head beside the scores of attention (GPT-OSS)
  MixtureOfExperts mixture;
  LatentAttention latent;
  SlidingWindow window;
  std::int64_t prediction_layers = 0;  // multi-token prediction (arXiv 2412.19437): modules behind the last layer
  // Masked language models (BERT): the share of tokens that is predicted, through a dense layer, an activation and a
  // normalization before the output projection. 0: every token's successor is predicted.
  double masked_share = 0;
  bool sentence_pairs = false;  // token types, and a head that says whether the second sentence follows the first
  double activation_limit = 0;  // to which both halves of a gated activation are clamped before it; 0: to nothing
  double dropout = 0;           // of attention probabilities and of both residual branches, when trained
  Head head;
  std::vector<std::string> notes;                        // what its file says that has no effect here, with places
  std::shared_ptr<const TransformerBlocks> transformer;  // what it consists of, where it states no blocks
  // A model of blocks from files: one that begins, layers, one that ends.
  std::vector<ModelBlock> blocks;
  block::Sizes sizes;                                         // that all its blocks may take
  std::map<std::string, Parallelism, std::less<>> divisions;  // of axes, where not the usual ones
  std::vector<DividedAxis> divided;

  bool gated() const { return activation == ActivationFunction::swiglu || activation == ActivationFunction::geglu; }
};

// What tells a layer of a model from its other layers. Layers of one kind are equal.
struct LayerKind {
  bool experts = false;     // a mixture of experts in place of the MLP
  std::int64_t window = 0;  // tokens that a token attends to; 0: all before it
  std::size_t block = 0;    // of a model of blocks: the place of the first one like it

  friend bool operator==(const LayerKind&, const LayerKind&) = default;
};
LayerKind kind_of_layer(const ModelSpec& model, std::int64_t layer);
// The kinds that a model has, each once, in the order of their first layers.
std::vector<LayerKind> layer_kinds(const ModelSpec& model);

// Parameters of the parts of a model, biases and norm weights included; total = embedding + layers * layer + head.
// Modules of multi-token prediction are counted by themselves: makers of models leave them out of the total.
struct ParameterCount {
  double embedding = 0;  // word and learned position embeddings, embedding norm
  double layer = 0;      // one transformer layer, the mean over them
  double head = 0;       // final norm, and the output projection unless it is tied
  double total = 0;
  double active = 0;      // that a token meets: of the experts only those it visits
  double prediction = 0;  // of all modules of multi-token prediction, which share embedding and head
};
ParameterCount count_parameters(const ModelSpec& model);

}  // namespace mirfak
