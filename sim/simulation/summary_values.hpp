#pragma once

#include "simulation/iteration.hpp"

#include <vector>

namespace mirfak {

// One number of a result under the key that JSON and HDF5 give it.
struct SummaryValue {
  const char* key;
  double number = 0;
  bool known = true;
  bool whole = false;  // counts something
};

// The figures of an iteration, in the order in which they are written; `fits` and tables apart.
std::vector<SummaryValue> summary_values(const IterationResult& result);

}  // namespace mirfak
