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
  std::int64_t groups = 1;     // groups of neighboring experts, equally large
  std::int64_t groups_per_token =
      1;                         // groups that hold all the experts of a token (DeepSeek-V3, arXiv 2412.19437, 2.1.2)
  std::int64_t ffn = 0;          // inner size of each expert
  std::int64_t shared_ffn = 0;   // inner size of the shared experts together, which every token visits; 0: none
  std::int64_t first_dense = 0;  // leading layers that have a plain MLP
  std::int64_t every = 1;        // after these, each every-th layer has experts: 2 is plain, experts, plain ...
};

// Multi-head latent attention (arXiv 2405.04434): keys and values of all heads are made from one small latent vector of
// a token, and queries from another vector. For the products of queries and keys, heads are head_dim = content +
// position wide.
struct LatentAttention {
  std::int64_t key_value_rank = 0;  // 0: the model has none
  std::int64_t query_rank = 0;      // 0: queries are made from the residual stream
  std::int64_t position_dim = 0;    // part of a head that rotary positions turn; all heads share that part of the keys
  std::int64_t value_dim = 0;       // width of a head's values
};

// Sliding-window attention: tokens attend to the last `tokens` tokens only.
struct SlidingWindow {
  std::int64_t tokens = 0;      // 0: the model has none
  std::int64_t full_every = 0;  // each full_every-th layer attends to all tokens; 0: none does
  std::int64_t full_first = 0;  // leading layers that attend to all tokens
};

// The head at the end of a model: it predicts a token's successor; a few labels of a sequence or of each token (reward
// models, classifiers); or there is only the vector of a sequence's last token (models of embeddings).
enum class HeadKind { language, labels_of_sequences, labels_of_tokens, pooled };

struct Head {
  HeadKind kind = HeadKind::language;
  std::int64_t labels = 0;  // number of labels, for the two kinds with labels
  bool bias = false;        // biases in addition to the weights of the labels
};

struct TransformerBlocks;

// One block of a model that states its blocks, repeated `count` times.
struct ModelBlock {
  std::string name;  // name in the file: "t5.decoder", "./my_block.yaml"
  std::int64_t count = 1;
  std::size_t kind = 0;  // index of the first equal block in ModelSpec::blocks
  block::DefinitionPointer definition;
  std::vector<block::NamedSize> formulas;  // stated for this block alone; override sizes of the model, batch, sequence
  double parameters = 0;                   // parameters of one repetition, with the sizes of the file
  double active_parameters = 0;            // parameters of one repetition that a token meets
};

// An axis that strategies may divide.
struct DividedAxis {
  std::string name;
  std::int64_t extent = 0;
  Parallelism divided_by{};

  friend bool operator==(const DividedAxis&, const DividedAxis&) = default;
};

// The architecture of a transformer of one stack, decoder or encoder; or of a model that states its blocks (`blocks`).
// In the second case layers, hidden, vocab, max_sequence and the experts of the mixture are derived from the blocks,
// heads, kv_heads and ffn are divisible by every number that divides all their axes, and all other fields are as if
// absent. All sizes are counts.
struct ModelSpec {
  std::string name;    // "gpt3-175b"
  std::string family;  // "gpt", "llama", "bloom", "opt": informative only
  std::string source;  // source of the figures
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;      // == heads without grouped-query attention; divides heads
  std::int64_t head_dim = 0;      // hidden / heads unless stated
  std::int64_t ffn = 0;           // inner size of the plain MLP (of each of the two halves when gated)
  std::int64_t vocab = 0;         // trained size, padding included
  std::int64_t max_sequence = 0;  // positions the model was made for: the default sequence length
  ActivationFunction activation = ActivationFunction::gelu;
  Normalization normalization = Normalization::layer_norm;
  PositionEncoding position = PositionEncoding::learned;
  bool linear_bias = true;      // biases in attention output and MLP projections
  bool qkv_bias = true;         // biases in the query, key and value projections
  bool tied_embeddings = true;  // the output projection is the transposed input embedding
  bool causal = true;           // tokens attend only to tokens before them; tokens of an encoder attend to all
  bool post_norm = false;       // normalizations after the residual additions (BERT), not before attention and MLP
  bool embedding_norm = false;  // the word embeddings are normalised (BLOOM)
  bool qk_norm = false;         // queries and keys are normalised, each head by itself
  bool sinks = false;           // a learned logit of each head, next to the scores of attention (GPT-OSS)
  MixtureOfExperts mixture;
  LatentAttention latent;
  SlidingWindow window;
  std::int64_t prediction_layers = 0;  // multi-token prediction (arXiv 2412.19437): modules after the last layer
  // Masked language models (BERT): the share of tokens that is predicted, through a dense layer, an activation and a
  // normalization before the output projection. 0: every token's successor is predicted.
  double masked_share = 0;
  bool sentence_pairs = false;  // token types, and a head that predicts if the second sentence follows the first
  double activation_limit = 0;  // clamps both halves of a gated activation before the activation; 0: no clamp
  double dropout = 0;           // rate for attention probabilities and both residual branches, in training
  Head head;
  std::vector<std::string> notes;  // statements of the model's file that have no effect, with places
  std::shared_ptr<const TransformerBlocks> transformer;  // blocks of a model that does not state its own
  // Blocks of a model that states them: a first block, layers, a last block.
  std::vector<ModelBlock> blocks;
  block::Sizes sizes;                                         // sizes that all blocks may take
  std::map<std::string, Parallelism, std::less<>> divisions;  // by axis, if not the usual one
  std::vector<DividedAxis> divided;
  std::int64_t tower_layers = 0;  // leading layers that belong to a tower for images
  std::int64_t image_tokens = 0;  // tokens of a sequence that the vectors of an image take; 0: there is no tower
  bool ties_words = false;        // the last block holds a parameter of another block

  bool gated() const { return activation == ActivationFunction::swiglu || activation == ActivationFunction::geglu; }
};

// Properties by which layers of a model differ. Layers of one kind are equal.
struct LayerKind {
  bool experts = false;     // a mixture of experts in place of the MLP
  std::int64_t window = 0;  // tokens that a token attends to; 0: all tokens before it
  std::size_t block = 0;    // for a model of blocks: index of the first equal block

  friend bool operator==(const LayerKind&, const LayerKind&) = default;
};
LayerKind kind_of_layer(const ModelSpec& model, std::int64_t layer);
// Returns the kinds of layers of a model, each once, in the order of their first layers.
std::vector<LayerKind> layer_kinds(const ModelSpec& model);

// Parameters of the parts of a model, including biases and norm weights; total = embedding + layers * layer + head.
// Modules of multi-token prediction are counted separately: makers of models leave them out of the total.
struct ParameterCount {
  double embedding = 0;  // word and learned position embeddings, embedding norm
  double layer = 0;      // one transformer layer, averaged over the layers
  double head = 0;       // final norm, and the output projection unless it is tied
  double total = 0;
  double active = 0;      // parameters that a token meets: only those experts that it visits
  double prediction = 0;  // all modules of multi-token prediction, which share embedding and head
};
ParameterCount count_parameters(const ModelSpec& model);

}  // namespace mirfak
