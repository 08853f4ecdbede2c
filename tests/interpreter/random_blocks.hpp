#pragma once

#include "block/compile.hpp"

#include <random>
#include <string>

namespace mirfak::test {

// A block of a few statements chosen at random, in the block language, with the sizes of its axes in its text.
struct RandomBlock {
  std::string text;
  block::Sizes sizes;
};
// Products with weights and of activations, elementwise operators, broadcasts, reductions, norms, attention, gathers,
// views, splits, scans, experts, losses; tensors with several readers and blocks with several outputs. `windows`:
// convolutions, pooling and shifted buffers, too; `uneven`: with sizes that devices do not divide.
RandomBlock random_block(std::mt19937& random, bool windows, bool uneven);

}  // namespace mirfak::test
