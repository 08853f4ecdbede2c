#include "base/random.hpp"

#include <boost/math/special_functions/erf.hpp>

namespace mirfak {

PhiloxCounter philox(PhiloxCounter counter, PhiloxKey key) {
  constexpr std::uint64_t multipliers[] = {0xD2511F53, 0xCD9E8D57};
  constexpr std::uint32_t weyl[] = {0x9E3779B9, 0xBB67AE85};
  constexpr int rounds = 10;
  for (int round = 0; round < rounds; ++round) {
    const std::uint64_t first = multipliers[0] * counter[0];
    const std::uint64_t second = multipliers[1] * counter[2];
    counter = {static_cast<std::uint32_t>(second >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(second),
               static_cast<std::uint32_t>(first >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(first)};
    key[0] += weyl[0];
    key[1] += weyl[1];
  }
  return counter;
}

double uniform(const Draw& draw) {
  const PhiloxCounter bits =
      philox({draw.sample, draw.purpose, static_cast<std::uint32_t>(draw.entity),
              static_cast<std::uint32_t>(draw.entity >> 32)},
             {static_cast<std::uint32_t>(draw.seed), static_cast<std::uint32_t>(draw.seed >> 32)});
  const std::uint64_t whole = (std::uint64_t{bits[0]} << 32 | bits[1]) >> 11;
  return (static_cast<double>(whole) + 0.5) * 0x1p-53;
}

double normal_quantile(double u) {
  constexpr double root_of_two = 1.4142135623730951;
  return -root_of_two * boost::math::erfc_inv(2 * u);
}

}  // namespace mirfak
