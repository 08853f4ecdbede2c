#pragma once

#include "engine/sampled_program.hpp"

#include <cstdint>

namespace mirfak {

// Purposes that numbers of a sample are drawn for; DrawnFactors take three in a row.
enum Purpose : std::uint32_t {
  of_ranks = 0,
  of_nodes = 3,
  of_ports = 6,
  of_jitter = 7,
  of_tokens = 10,
  of_iterations = 11,
  of_experts = 14,
  of_images = 15
};
inline constexpr std::uint32_t kPurposes = 32;  // room for the purposes of one iteration

// Returns the purpose of a number that each iteration of a sample draws anew.
inline std::uint32_t purpose_in(const SampleNumber& sample, Purpose purpose) {
  return purpose + kPurposes * sample.iteration;
}

}  // namespace mirfak
