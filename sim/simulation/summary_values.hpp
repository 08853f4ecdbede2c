#pragma once

#include "cluster/facility.hpp"
#include "simulation/iteration.hpp"

#include <vector>

namespace mirfak {

// One number of a result under the key that JSON, CSV, HDF5 and assertions give it.
struct SummaryValue {
  const char* key;
  double number = 0;
  bool known = true;
  bool whole = false;  // counts something
  bool truth = false;  // 1: true, 0: false
  bool asked = true;   // else JSON leaves it out: nothing is said of the facility, or it is told under `activities`
};

// The figures of an iteration, in the order in which they are written; `fits` and tables apart.
std::vector<SummaryValue> summary_values(const IterationResult& result);

// All single figures of an iteration: the same, what its facility draws and emits (known where `facility` says anything
// of it), `fits`, the memory that is free, and where the time of a GPU goes.
std::vector<SummaryValue> result_values(const IterationResult& result, const Facility& facility = {});

// The same where the iteration took `seconds` and its fullest GPU's peak was `peak_bytes`: all that follows from these.
std::vector<SummaryValue> result_values_at(IterationResult result, const Facility& facility, double seconds,
                                           double peak_bytes);

}  // namespace mirfak
