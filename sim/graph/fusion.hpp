#pragma once

#include "graph/operator_graph.hpp"

#include <string>
#include <vector>

namespace mirfak {

// Operators in a row that run as one kernel: each reads the result of the one before, which nothing else reads. A word
// names what an operator computes (Operator::function: "gelu"), its kind ("softmax") or a tag ("@core_attn"); "bias" is
// the sum with a parameter, "add" that of activations. A word with a question mark may be missing: "dropout?".
//
// The kernel moves its outer operands through memory once, `passes` times where that is stated. Of what the gradients
// of its parts would read, they read what lies outside and what the kernel had to write anyway (masks); what was inside
// is computed again from the operands that it was made of.
//
// Where the chain is several kernels after all, `kernels` has each of them, in place of `passes`.
struct FusedChain {
  std::vector<std::string> words;
  double passes = 1;
  double gradient_passes = 0;  // 0: as often
  std::vector<PlainKernel> kernels = {};
  std::vector<PlainKernel> gradient_kernels = {};

  friend bool operator==(const FusedChain&, const FusedChain&) = default;
};

struct FusionRules {
  std::vector<FusedChain> chains;      // an operator belongs to the first that it begins
  std::vector<std::string> epilogues;  // words of operators that the product before them does
  // Products with such a tag that read the same operand, and have the same columns for ranks to divide, are one product
  // with one weight.
  std::vector<std::string> packed_tags;
  std::vector<std::string> group_tags;  // operators with such a tag that stand one behind the other are one kernel

  friend bool operator==(const FusionRules&, const FusionRules&) = default;
};

// `forward` has no gradient operators yet. Tensors that nothing reads or writes any more are removed: ids change.
OperatorGraph fuse(OperatorGraph forward, const FusionRules& rules);

}  // namespace mirfak
