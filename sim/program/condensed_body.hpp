#pragma once

#include "program/body.hpp"

#include <vector>

namespace mirfak {

// A body whose kernels in a row are one step. It takes as long, and its collectives begin and end when they did,
// however late host, streams and collectives are: between two points at which other streams wait for the kernels, or
// these for them, kernels are FoldedBody's three constants.
struct CondensedBody {
  // The steps that became one, and what they are together; of a collective, itself.
  struct Run {
    std::size_t first = 0;
    FoldedBody folded;  // of kernels
  };
  Body body;
  std::vector<Run> runs;  // of each of its steps
};

// Kernels in a row stay apart where `of_second` (of each step, or empty) says that they are of different passes.
CondensedBody condensed(const Body& body, const std::vector<bool>& of_second = {});

}  // namespace mirfak
