#pragma once

#include "engine/execute.hpp"
#include "program/lowering.hpp"

#include <span>
#include <string_view>

namespace mirfak {

// One of the fixed scenarios of `mirfak bench`.
struct BenchCase {
  std::string_view name;
  std::string_view scenario;  // name of the scenario file in scenarios/bench/
  LoweringOptions lowering;
  Executor executor = Executor::automatic;
};

// Returns cases that cover each schedule, each kind of parallelism, both levels of detail, both executors, and folded
// as well as unfolded programs. A case and its file are never changed, and new cases are added at the end, so that the
// hashes of existing cases stay comparable.
std::span<const BenchCase> bench_cases();

}  // namespace mirfak
