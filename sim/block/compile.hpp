#pragma once

#include "block/file.hpp"
#include "graph/operator_graph.hpp"

#include <map>
#include <string>
#include <string_view>

namespace mirfak::block {

// Which parallelism divides an axis, by its label or the name of its size.
using Divisions = std::map<std::string, Parallelism, std::less<>>;
// By the names of sizes that models usually have: batch, sequence, heads, ffn, vocab, experts, ... (README.md).
const Divisions& usual_divisions();

// What decides the operators of a block beside its text and sizes.
struct CompileOptions {
  double element_bytes = 2;     // of activations and parameters whose format the text does not state
  Divisions divisions;          // before the usual ones
  bool fused_attention = true;  // one kernel; else scores, scale, mask, softmax, dropout and context
};

// The operators of a block, one for each operation of its text. `sizes`: all that the block is given, "batch"
// (sequences) and "sequence" (tokens of one) included. Throws Error(input) at file:line:column: unknown axes, tensors,
// sizes and operators (with the nearest name), labels that do not match, sizes in conflict, uses before definitions,
// second definitions, unused tensors, operators without derivative where a gradient must pass.
OperatorGraph compile(const Definition& definition, const Sizes& sizes, const CompileOptions& options);

// The sizes that a block has: those stated, else its defaults. Error(input) at the header of the block for one that is
// missing, at `asked_at` for one that it does not take.
Sizes complete_sizes(const Definition& definition, const Sizes& stated, const Location& asked_at);

}  // namespace mirfak::block
