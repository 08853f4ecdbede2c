#pragma once

#include "energy/clock_plan.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace mirfak {

// Simpler ways to choose clocks, to compare the frontier with.
struct Baseline {
  enum class Kind : std::uint8_t { highest_clock, lowest_clock, one_clock, clock_per_stage, balanced_stages };
  Kind kind{};
  std::string name;
  ExecutedClocks executed;
};

// Returns the plans of simpler methods. The highest clocks must keep `deadline`:
//  - "highest clock", "lowest clock": this clock for every pass;
//  - "one clock": the same share of the highest clock for every pass; of the shares that keep the deadline, the one
//    that needs least energy until the deadline, as Zeus (arXiv 2208.06102) chooses one power limit, for a known
//    straggler;
//  - "balanced stages": each stage at the clock that needs least energy among those at which its passes take no longer
//    than the slowest stage's at the highest clock, as EnvPipe (USENIX ATC 2023); this may lengthen warm-up and drain,
//    and the deadline is ignored;
//  - "a clock per stage": stages balanced in the same way, to the longest time with which the iteration keeps the
//    deadline.
std::vector<Baseline> baselines(const ClockedProgram& clocked, Picoseconds deadline);

}  // namespace mirfak
