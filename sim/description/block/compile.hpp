#pragma once

#include "block/file.hpp"
#include "graph/operator_graph.hpp"

#include <map>
#include <string>
#include <string_view>

namespace mirfak::block {

// The parallelism that divides an axis, by the axis's label or the name of its size.
using Divisions = std::map<std::string, Parallelism, std::less<>>;
// Divisions by the names of sizes that models usually have: batch, sequence, heads, ffn, vocab, experts, ...
// (README.md).
const Divisions& usual_divisions();

// Inputs that decide the operators of a block, in addition to its text and sizes.
struct CompileOptions {
  double element_bytes = 2;     // bytes per element of activations and parameters whose format the text does not state
  Divisions divisions;          // take precedence over the usual divisions
  bool fused_attention = true;  // one kernel; else scores, scale, mask, softmax, dropout and context
};

// Returns the operators of a block, one for each operation of its text. `sizes`: all sizes of the block, including
// "batch" (sequences) and "sequence" (tokens of a sequence). Throws Error(input) at file:line:column for unknown axes,
// tensors, sizes and operators (with the nearest name), labels that do not match, sizes in conflict, uses before
// definitions, second definitions, unused tensors, and operators without derivative where a gradient must pass.
OperatorGraph compile(const Definition& definition, const Sizes& sizes, const CompileOptions& options);

// Returns the sizes of a block: the stated sizes, else the block's defaults. Throws Error(input) at the header of the
// block for a size that is missing, and at `asked_at` for a size that the block does not take.
Sizes complete_sizes(const Definition& definition, const Sizes& stated, const Location& asked_at);

}  // namespace mirfak::block
