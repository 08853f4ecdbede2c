#pragma once

#include "engine/execute.hpp"
#include "program/lowering.hpp"

#include <span>
#include <string_view>

namespace mirfak {

// One of the fixed scenarios of `mirfak bench`.
struct BenchCase {
  std::string_view name;
  std::string_view scenario;  // the name of its file in scenarios/bench/
  LoweringOptions lowering;
  Executor executor = Executor::automatic;
};

// Chosen so that each schedule, each kind of parallelism, both levels of detail, both executors, and folded as well
// as unfolded programs occur. A case and its file are never changed, only added at the end: the hash of the others
// stays comparable.
std::span<const BenchCase> bench_cases();

}  // namespace mirfak
