#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <string_view>

namespace mirfak {

// Factors by which the work of a rank takes longer than the cost models predict, by kind of time.
struct TimeFactors {
  double compute = 1;        // kernels
  double communication = 1;  // collectives and transfers
  double host = 1;           // issuing of work

  friend auto operator<=>(const TimeFactors&, const TimeFactors&) = default;
};

// Key of a factor in files, its title, and its member.
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

// Number for each factor, in the order of kTimeFactorKeys; and a number for each pair of factors.
using FactorVector = std::array<double, kTimeFactors>;
using FactorMatrix = std::array<FactorVector, kTimeFactors>;

}  // namespace mirfak
