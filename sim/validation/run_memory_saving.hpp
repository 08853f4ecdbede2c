#pragma once

#include "validation/measured_run.hpp"

#include <vector>

namespace mirfak {

// A run that was measured fitted into memory. Where its row leaves open what saves memory, this is what it can have
// been: the row first as it stands, then with its open cells filled in, each needing less memory than the one before.
// What a row states is never changed; one that states everything comes alone.
struct RunVariant {
  MeasuredRun run;
  std::string assumed;  // what was filled in; empty: nothing
};
std::vector<RunVariant> variants_by_memory(const MeasuredRun& run);

}  // namespace mirfak
