#pragma once

#include "graph/fusion.hpp"
#include "graph/operator_graph.hpp"
#include "model/adapters.hpp"
#include "model/model_spec.hpp"

#include <cstdint>

namespace mirfak {

// What decides the operators of a block beside the model: the batch, and which kernels the framework fuses.
struct BlockOptions {
  std::int64_t batch = 1;       // sequences of a microbatch, over all data-parallel replicas
  std::int64_t sequence = 0;    // tokens of a sequence
  std::int64_t kv_heads = 0;    // groups of keys and values actually computed: the model's, or more when replicated
  std::int64_t masked = 0;      // tokens of a sequence that a masked model's head picks out; 0: it takes all
  std::int64_t vocabulary = 0;  // padded as the framework pads it
  double element_bytes = 2;     // of activations and parameters
  bool dropout = false;
  LowRankAdapters adapters;
  FusionRules fusion;                     // of blocks from files; the rest says the same of those written in C++
  bool fused_attention = false;           // one flash-attention kernel; else scores, softmax, dropout, context
  bool fused_softmax = false;             // scale, mask and softmax in one kernel
  bool fused_bias_activation = false;     // bias and activation of the MLP in one kernel
  bool fused_bias_dropout_add = false;    // bias, dropout and residual addition in one kernel
  bool fused_rotary = false;              // rotary embedding in one kernel; else several elementwise ones
  bool rows_sorted = false;               // experts' rows are sorted once more behind their exchange between ranks
  double copies_per_token = 1;            // of a token, which the kernel that sorts them by expert reads
  bool rows_padded = false;               // every expert's rows are copied to where their number suits the product
  double expert_bias_bytes = 0;           // moved per element to add the biases of experts' results; 0: one addition
  double expert_bias_gradient_bytes = 0;  // ... by backward, where expert_bias_bytes is not 0
  bool casts_weights = false;             // weights are kept in fp32 and cast before each product (autocast)
  bool fused_cross_entropy = false;       // the loss in one kernel; else several passes over the fp32 logits
  bool narrow_activation_input = false;   // what backward needs of an MLP's activation function is kept in 8 bits
  bool fused_linear_bias = false;         // products add the biases of linear layers that no other kernel takes
  bool chained_gelu = false;              // decoders' GELU as a chain of plain kernels
  bool wide_norm_inputs = false;          // normalizations read fp32 copies, which a kernel each makes
  bool loss_recomputes_softmax = false;   // backward of a fused loss reads the logits and overwrites them
  double logit_metric_bytes = 0;          // moved per logit by metrics that are computed with every loss
};

// Word (and learned position) embeddings: token ids -> residual stream.
OperatorGraph build_embedding_block(const ModelSpec& model, const BlockOptions& options);
// One transformer layer of a kind: residual stream -> residual stream.
OperatorGraph build_layer_block(const ModelSpec& model, const BlockOptions& options, const LayerKind& kind = {});
// A module of multi-token prediction (arXiv 2412.19437, section 2.2): residual stream and embedding of the next token,
// normalized, side by side, projected, and through a layer of a kind -> residual stream, for a head behind it.
OperatorGraph build_prediction_block(const ModelSpec& model, const BlockOptions& options, const LayerKind& kind);
// Final normalization, logits and loss.
OperatorGraph build_head_block(const ModelSpec& model, const BlockOptions& options);

}  // namespace mirfak
