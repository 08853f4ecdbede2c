#pragma once

#include "graph/operator_graph.hpp"

#include <string>
#include <vector>

namespace mirfak {

// Consecutive operators that run as one kernel: each reads the result of the one before, which nothing else reads. A
// word names the function of an operator (Operator::function: "gelu"), its kind ("softmax") or a tag ("@core_attn");
// "bias" is the sum with a parameter, "add" the sum of activations. A word with a question mark may be missing:
// "dropout?".
//
// The kernel moves its outer operands through memory `passes` times. Gradients of its parts read only tensors outside
// the kernel and tensors that the kernel writes anyway (masks); tensors inside are recomputed from the operands that
// they were made of.
//
// If the chain runs as several kernels after all, `kernels` lists each of them, in place of `passes`.
struct FusedChain {
  std::vector<std::string> words;
  double passes = 1;
  double gradient_passes = 0;  // 0: as many as `passes`
  int launches = 1;            // kernels whose traffic `passes` adds up (Operator::launches)
  int gradient_launches = 1;
  std::vector<PlainKernel> kernels = {};
  std::vector<PlainKernel> gradient_kernels = {};

  friend bool operator==(const FusedChain&, const FusedChain&) = default;
};

struct FusionRules {
  std::vector<FusedChain> chains;      // the first chain that begins at an operator applies
  std::vector<std::string> epilogues;  // words of operators that the product before them computes
  // Tags of products to pack: products with the tag that read the same operand and have the same columns for ranks to
  // divide become one product with one weight.
  std::vector<std::string> packed_tags;
  std::vector<std::string> group_tags;  // consecutive operators with the tag become one kernel

  friend bool operator==(const FusionRules&, const FusionRules&) = default;
};

// Applies the rules. `forward` has no gradient operators yet. Tensors that no operator uses any more are removed, so
// ids change.
OperatorGraph fuse(OperatorGraph forward, const FusionRules& rules);

}  // namespace mirfak
