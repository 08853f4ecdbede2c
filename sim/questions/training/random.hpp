#pragma once

#include "base/random.hpp"

#include <cmath>
#include <cstdint>

namespace mirfak {

// Random numbers that are the same bits on every machine and for any number of threads: SplitMix64, with one stream for
// every (seed, stream).
class RandomStream {
 public:
  RandomStream(std::uint64_t seed, std::uint64_t stream) : state_(split_mix(seed) ^ split_mix(~stream)) {}

  std::uint64_t next() { return split_mix(state_ += kSplitMixStep); }
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }  // from 0 to below 1
  double exponential(double rate) { return -std::log1p(-uniform()) / rate; }
  double normal() {  // Box and Muller, 1958
    constexpr double kTwoPi = 6.283185307179586;
    const double radius = std::sqrt(-2 * std::log1p(-uniform()));
    return radius * std::cos(kTwoPi * uniform());
  }

 private:
  std::uint64_t state_;
};

}  // namespace mirfak
