#pragma once

#include "graph/fusion.hpp"
#include "graph/operator_graph.hpp"
#include "model/adapters.hpp"
#include "model/block_kernels.hpp"
#include "model/model_spec.hpp"

#include <cstdint>

namespace mirfak {

// What decides the operators of a block beside the model: the batch, and which kernels the framework has.
struct BlockOptions {
  std::int64_t batch = 1;        // sequences of a microbatch, over all data-parallel replicas
  std::int64_t sequence = 0;     // tokens of a sequence
  std::int64_t kv_heads = 0;     // groups of keys and values actually computed: the model's, or more when replicated
  std::int64_t masked = 0;       // tokens of a sequence that a masked model's head picks out; 0: it takes all
  std::int64_t vocabulary = 0;   // padded as the framework pads it
  double element_bytes = 2;      // of activations and parameters
  bool fused_attention = false;  // one flash-attention kernel; else scores, softmax, dropout, context
  LowRankAdapters adapters;
  FusionRules fusion;
  BlockKernels kernels;
};

// Word (and learned position) embeddings: token ids -> residual stream. Of a model that states its blocks, the first.
OperatorGraph build_embedding_block(const ModelSpec& model, const BlockOptions& options);
// One layer of a kind: residual stream -> residual stream.
OperatorGraph build_layer_block(const ModelSpec& model, const BlockOptions& options, const LayerKind& kind = {});
// A module of multi-token prediction (arXiv 2412.19437, section 2.2): residual stream and embedding of the next token,
// normalized, side by side, projected, and through a layer of a kind -> residual stream, for a head behind it.
OperatorGraph build_prediction_block(const ModelSpec& model, const BlockOptions& options, const LayerKind& kind);
// Final normalization, logits and loss. Of a model that states its blocks, the last.
OperatorGraph build_head_block(const ModelSpec& model, const BlockOptions& options);

}  // namespace mirfak
