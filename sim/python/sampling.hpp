#pragma once

#include "simulation/spread.hpp"

#include <cstdint>
#include <optional>

namespace mirfak::python {

// How many iterations to draw, as Python says it.
struct SampleChoice {
  int samples = 0;  // 0: none
  std::optional<std::uint64_t> seed;
  bool antithetic = true;
};

// nullopt: none. Error(input) for a number of samples that cannot be, and a seed without any.
std::optional<SpreadOptions> sampling_of(const SampleChoice& choice);

}  // namespace mirfak::python
