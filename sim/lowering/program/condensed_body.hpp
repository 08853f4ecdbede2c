#pragma once

#include "program/body.hpp"

#include <vector>

namespace mirfak {

// A body in which consecutive kernels are one step, together with the quiet collectives between them. It takes as long
// as the original body, and its other collectives begin and end at the same times, however late host, streams and
// collectives are: between two points at which other streams wait for the kernels, or the kernels for other streams,
// FoldedBody's three constants stand for the steps.
struct CondensedBody {
  // The original steps that one new step replaces; for a collective, the collective alone.
  struct Run {
    std::size_t first = 0;
    FoldedBody folded;  // the steps together
  };
  Body body;
  std::vector<Run> runs;  // one for each step of `body`
};

// Returns the condensed body. Consecutive kernels stay apart if they belong to different passes: `of_second` is true
// for each step of the second pass (empty: all steps are of one pass). `quiet` is true for collectives that take as
// long whatever other streams do (empty: none); where their times allow it, they are part of a run.
CondensedBody condensed(const Body& body, const std::vector<bool>& of_second = {}, const std::vector<bool>& quiet = {});

}  // namespace mirfak
