#pragma once

#include "simulation/spread.hpp"

#include <cstdint>
#include <optional>

namespace mirfak::python {

// The number of iterations to draw, as Python states it.
struct SampleChoice {
  int samples = 0;  // 0: none
  std::optional<std::uint64_t> seed;
  bool antithetic = true;
};

// Returns the options of sampling; nullopt: none. Error(input) for an invalid number of samples, and for a seed without
// samples.
std::optional<SpreadOptions> sampling_of(const SampleChoice& choice);

}  // namespace mirfak::python
