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

// With `deadline`, which the highest clocks keep:
//  - "highest clock", "lowest clock": of every pass;
//  - "one clock": the same share of the highest clock for every pass, of those that keep the deadline
//    the one that needs least energy until then, as Zeus (arXiv 2208.06102) chooses one power limit, a
//    straggler known;
//  - "balanced stages": each stage at the clock that needs least energy of those at which its passes
//    take no longer than the slowest stage's at the highest clock, as EnvPipe (USENIX ATC 2023); warm-up
//    and drain may get longer by it, and the deadline has no part in it;
//  - "a clock per stage": the same, balanced to the longest time with which the iteration keeps the
//    deadline.
std::vector<Baseline> baselines(const ClockedProgram& clocked, Picoseconds deadline);

}  // namespace mirfak
