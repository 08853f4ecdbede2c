#pragma once

namespace mirfak {

// Low-rank adapters (LoRA, arXiv 2106.09685): y = x W + dropout(x) A B next to linear layers of the transformer, A with
// `rank` columns. Only adapters are trained: all other parameters are frozen, have no gradient and no optimizer state,
// and pass gradients of activations on.
struct LowRankAdapters {
  int rank = 0;        // 0: no adapters, the whole model is trained
  double dropout = 0;  // dropout of the input of A
  // Linear layers that have an adapter.
  bool query_key_value = false;
  bool attention_output = false;
  bool mlp_up = false;
  bool mlp_down = false;

  friend bool operator==(const LowRankAdapters&, const LowRankAdapters&) = default;
};

}  // namespace mirfak
