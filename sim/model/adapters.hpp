#pragma once

namespace mirfak {

// Low-rank adapters (LoRA, arXiv 2106.09685): y = x W + dropout(x) A B beside linear layers of the transformer, A with
// `rank` columns. Only they are trained: everything else is frozen, has no gradient and no optimizer state, and passes
// gradients of activations on.
struct LowRankAdapters {
  int rank = 0;        // 0: no adapters, the whole model is trained
  double dropout = 0;  // of what enters A
  // Which linear layers have one.
  bool query_key_value = false;
  bool attention_output = false;
  bool mlp_up = false;
  bool mlp_down = false;

  friend bool operator==(const LowRankAdapters&, const LowRankAdapters&) = default;
};

}  // namespace mirfak
