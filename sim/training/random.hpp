#pragma once

#include <cmath>
#include <cstdint>

namespace mirfak {

// Random numbers that are the same bits on every machine and for any number of threads: a counter made uneven
// (SplitMix64: Steele, Lea and Flood, 2014), one stream for every (seed, stream).
class RandomStream {
 public:
  RandomStream(std::uint64_t seed, std::uint64_t stream) : state_(mixed(seed) ^ mixed(~stream)) {}

  std::uint64_t next() { return mixed(state_ += kStep); }
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }  // from 0 to below 1
  double exponential(double rate) { return -std::log1p(-uniform()) / rate; }
  double normal() {  // Box and Muller, 1958
    constexpr double kTwoPi = 6.283185307179586;
    const double radius = std::sqrt(-2 * std::log1p(-uniform()));
    return radius * std::cos(kTwoPi * uniform());
  }

 private:
  static constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15;
  static std::uint64_t mixed(std::uint64_t value) {
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
    value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
    return value ^ (value >> 31);
  }

  std::uint64_t state_;
};

}  // namespace mirfak
