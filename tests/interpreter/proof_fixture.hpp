#pragma once

#include "block/compile.hpp"
#include "graph/fusion.hpp"
#include "graph/operator_graph.hpp"

#include <optional>
#include <string>
#include <vector>

namespace mirfak::test {

// A built-in block with sizes small enough to run with numbers.
struct SmallBlock {
  std::string label;  // for messages: the block and what is particular
  std::string block;  // "t5.decoder"
  block::Sizes sizes;
};
// Every block of models/blocks, and variants that their `when`s make.
const std::vector<SmallBlock>& small_blocks();

// The operators of a block, as its text says them.
OperatorGraph forward_graph(const SmallBlock& block, bool fused_attention);
// Rules by which frameworks fuse and pack: every rule of chains that any of them has.
const FusionRules& proof_fusion();

}  // namespace mirfak::test
