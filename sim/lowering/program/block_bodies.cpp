// Bodies of a block by the kind of pass and, where microbatches run as two parts, by the place in a row.

#include "program/blocks_of_job.hpp"

namespace mirfak {

const RowBodies& row_of(const BlockBodies& block, Pass::Kind kind) {
  return is_forward(kind) ? block.forward_row : block.backward_row;
}

std::vector<int> forward_origins(const BlockBodies& block) {
  std::vector<int> out;
  if (block.forward_row.empty()) {
    for (std::size_t i = 0; i < block.forward.steps.size(); ++i) out.push_back(static_cast<int>(i));
    return out;
  }
  for (const PairedBody::Origin& origin : block.forward_row.placed({true, true}).steps.origins) {
    out.push_back(origin.step);
  }
  return out;
}

const Body& body_of(const BlockBodies& block, Pass::Kind kind, RowPlace place) {
  if (const RowBodies& row = row_of(block, kind); !row.empty()) return row.placed(place).steps.body;
  switch (kind) {
    case Pass::Kind::forward:
      return block.forward;
    case Pass::Kind::backward_input:
      return block.split.inputs;
    case Pass::Kind::backward_weight:
      return block.split.weights;
    case Pass::Kind::backward:
      break;
  }
  return block.backward;
}

const FoldedBody& folded_pass(const BlockBodies& block, Pass::Kind kind, RowPlace place) {
  if (const RowBodies& row = row_of(block, kind); !row.empty()) return row.placed(place).folded;
  switch (kind) {
    case Pass::Kind::forward:
      return block.folded_forward;
    case Pass::Kind::backward_input:
      return block.folded_backward_input;
    case Pass::Kind::backward_weight:
      return block.folded_backward_weight;
    case Pass::Kind::backward:
      break;
  }
  return block.folded_backward;
}

}  // namespace mirfak
