#pragma once

#include "cost/gemm_model.hpp"

#include <vector>

namespace mirfak {

// One call of a scan on one device. Each group of heads / groups heads shares the vectors that write and read the
// state.
struct ScanShape {
  double batch = 1;
  double tokens = 0;
  double chunk = 0;
  double groups = 1;
  double heads = 0;
  double width = 0;  // width of a head
  double state = 0;  // state size of each channel of a head

  double chunks() const { return tokens / chunk; }
};

// One kernel of a scan: a product, or a pass through memory where `product` has no rows.
struct ScanKernel {
  GemmShape product;
  double bytes = 0;  // moved through memory
};

// Returns the kernels of state-space duality by chunks (arXiv 2405.21060, section 6 and figure 5; divided into kernels
// as by the authors, github.com/state-spaces/mamba, ops/triton/ssd_combined.py). Q is the tokens of a chunk, N the
// state, P the width of a head; per head and chunk, products of rows x columns x inner:
//
//   steps       decays of a chunk's tokens, summed up                      a pass
//   scores      C B'                       of a group                      Q x Q x N
//   states      B' x                       what a chunk adds to the state  N x P x Q
//   recurrence  state_c = decay_c state_(c-1) + added_c                    a pass over the states, in fp32
//   results     [scores of the chunk, C] [x, state before it]              Q x P x (Q + N)
//
// These are 2 b s (Q g N + h Q P + 2 h N P) FLOP. Backward computes scores and states again, and two products for each
// product: gradients of the states, x, B, C and the scores. Masks are applied to whole chunks: nothing is skipped.
std::vector<ScanKernel> scan_kernels(const ScanShape& shape, double element_bytes, bool backward);

}  // namespace mirfak
