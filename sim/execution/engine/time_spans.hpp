#pragma once

#include "program/program.hpp"

#include <span>
#include <vector>

namespace mirfak {

// Time from `start` to before `end`.
struct TimeSpan {
  Picoseconds start = 0;
  Picoseconds end = 0;

  Picoseconds length() const { return end - start; }
};
using TimeSpans = std::vector<TimeSpan>;

// Returns the union of spans: in ascending order, none empty, and no two that overlap or touch.
TimeSpans joined(TimeSpans spans);
Picoseconds total_length(std::span<const TimeSpan> spans);
// Cuts the spans `by` out of the spans `from`, and returns the length that was cut. Each of the two ascends without
// overlaps.
Picoseconds cut(TimeSpans& from, const TimeSpans& by);

}  // namespace mirfak
