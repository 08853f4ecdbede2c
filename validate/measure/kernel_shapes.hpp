#pragma once

#include "program/program.hpp"

#include <vector>

namespace mirfak::measure {

// The distinct products of a program (detail: operators) as one device runs them, and around each those with one extent
// halved or doubled, so that a fit sees how time grows with each. In ascending order of their FLOPs, none above
// `max_flop`. `narrow`: of the products in the job's narrow format, with extents that are multiples of 16, as 8 bits
// need them; else of all others.
std::vector<GemmShape> product_shapes(const Program& program, double max_flop, bool narrow = false);

// The distinct calls of fused attention of a program, none where its attention is not fused, and around each those
// of half and twice the tokens, and all of these with twice the sequences. Forward calls before backward ones.
std::vector<KernelWork> attention_calls(const Program& program);

}  // namespace mirfak::measure
