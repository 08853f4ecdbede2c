#pragma once

#include "cost/range_widths.hpp"
#include "program/job.hpp"
#include "simulation/iteration.hpp"

#include <string>

namespace mirfak {

// The shares of `result`, an iteration of `job`, that each uncertainty concerns, on average over its ranks.
UncertaintyShares uncertainty_shares(const Job& job, const IterationResult& result);

// Where measurements of the iteration lie. On nodes that a user's own runs correct: by how well those tell the
// corrections, and how runs scatter; else by the widths of the job. {0, 0}: nothing is known.
PredictionRange range_of(const Job& job, const IterationResult& result);

// Where a measured peak of the fullest GPU lies: of what the framework allocates, by the job's widths; what the
// platform takes is as it is. {0, 0}: nothing is known.
struct MemoryRange {
  double low_bytes = 0;
  double high_bytes = 0;
};
MemoryRange memory_range(const Job& job, const IterationResult& result);

// Standard deviation of ln(measured / predicted) on nodes that are corrected so.
double range_deviation(const Correction& correction, const IterationResult& result);

// "18.6 to 21.5 s"; of a result that has a range.
std::string range_text(const IterationResult& result);

}  // namespace mirfak
