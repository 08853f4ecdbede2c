#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <string_view>

namespace mirfak {

// How much longer what a rank does takes than the cost models say, by where its time goes.
struct TimeFactors {
  double compute = 1;        // kernels
  double communication = 1;  // collectives and transfers
  double host = 1;           // issuing work

  friend auto operator<=>(const TimeFactors&, const TimeFactors&) = default;
};

// Their keys in files, and where each stands.
struct TimeFactor {
  std::string_view key;
  std::string_view title;
  double TimeFactors::*value;
};
inline constexpr std::size_t kTimeFactors = 3;
inline constexpr std::array<TimeFactor, kTimeFactors> kTimeFactorKeys = {
    {{"compute", "kernels", &TimeFactors::compute},
     {"communication", "communication", &TimeFactors::communication},
     {"host", "host", &TimeFactors::host}}};

// A number for each of them, in their order; and one for each pair.
using FactorVector = std::array<double, kTimeFactors>;
using FactorMatrix = std::array<FactorVector, kTimeFactors>;

}  // namespace mirfak
