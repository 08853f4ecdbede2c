#pragma once

#include "graph/fusion.hpp"
#include "graph/operator_graph.hpp"
#include "model/adapters.hpp"
#include "model/block_kernels.hpp"
#include "model/model_spec.hpp"

#include <cstdint>

namespace mirfak {

// Inputs that decide the operators of a block, in addition to the model: the batch, and the kernels of the framework.
struct BlockOptions {
  std::int64_t batch = 1;        // sequences of a microbatch, over all data-parallel replicas
  std::int64_t sequence = 0;     // tokens of a sequence
  std::int64_t kv_heads = 0;     // groups of keys and values that are computed: the model's, or more if replicated
  std::int64_t masked = 0;       // tokens of a sequence that a masked model's head picks out; 0: all tokens
  std::int64_t vocabulary = 0;   // with the padding that the framework adds
  double element_bytes = 2;      // bytes per element of activations and parameters
  bool fused_attention = false;  // one flash-attention kernel; else scores, softmax, dropout, context
  LowRankAdapters adapters;
  FusionRules fusion;
  BlockKernels kernels;
};

// Builds the word (and learned position) embeddings: token ids -> residual stream. For a model that states its blocks:
// the first block.
OperatorGraph build_embedding_block(const ModelSpec& model, const BlockOptions& options);
// Builds one layer of a kind: residual stream -> residual stream.
OperatorGraph build_layer_block(const ModelSpec& model, const BlockOptions& options, const LayerKind& kind = {});
// Builds a module of multi-token prediction (arXiv 2412.19437, section 2.2): the residual stream and the embedding of
// the next token are normalized, concatenated, projected, and pass through a layer of a kind -> residual stream, for a
// head after it.
OperatorGraph build_prediction_block(const ModelSpec& model, const BlockOptions& options, const LayerKind& kind);
// Builds the final normalization, logits and loss. For a model that states its blocks: the last block.
OperatorGraph build_head_block(const ModelSpec& model, const BlockOptions& options);

}  // namespace mirfak
