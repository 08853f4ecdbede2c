#pragma once

#include <array>
#include <cstdint>

namespace mirfak {

// A bijection of 64 bits in which every bit of the result depends on every bit of `value`: the finalizer of SplitMix64
// (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014), which adds kSplitMixStep before.
inline constexpr std::uint64_t kSplitMixStep = 0x9e3779b97f4a7c15;
constexpr std::uint64_t split_mix(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

// Hashes of 64 bits: of one value, and of two values in their order.
constexpr std::uint64_t mixed(std::uint64_t value) { return split_mix(value + kSplitMixStep); }
constexpr std::uint64_t mixed(std::uint64_t first, std::uint64_t second) { return mixed(mixed(first) ^ second); }

// Random numbers without a state: a bijection of counters, so that number n is the same whoever asks for it, in any
// order, on any thread and machine. Philox 4x32 of ten rounds: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as
// easy as 1, 2, 3", SC'11, section 3.3.
using PhiloxCounter = std::array<std::uint32_t, 4>;
using PhiloxKey = std::array<std::uint32_t, 2>;
PhiloxCounter philox(PhiloxCounter counter, PhiloxKey key);

// Identifies one random number by the purpose and the entity that it is drawn for.
struct Draw {
  std::uint64_t seed = 0;
  std::uint32_t sample = 0;
  std::uint32_t purpose = 0;  // kind of entity: ranks, nodes, ...
  std::uint64_t entity = 0;
};

// Returns a uniform number in (0, 1), never 0 or 1, with 53 random bits.
double uniform(const Draw& draw);
// Returns the value below which a share `u` in (0, 1) of the standard normal distribution lies.
double normal_quantile(double u);

}  // namespace mirfak
