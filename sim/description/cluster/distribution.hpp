#pragma once

#include "base/document.hpp"

#include <string>
#include <variant>
#include <vector>

namespace mirfak {

// Range of factors that a scenario may state for any time.
inline constexpr double kLowestFactor = 0.01;
inline constexpr double kHighestFactor = 1000;

// Distribution of factors of time. All factors are above 0: a value below 0.01 becomes 0.01.
class Distribution {
 public:
  struct Normal {
    double mean = 1;
    double deviation = 0;
    friend bool operator==(const Normal&, const Normal&) = default;
  };
  struct Lognormal {
    double median = 1;
    double sigma = 0;  // standard deviation of the logarithm
    friend bool operator==(const Lognormal&, const Lognormal&) = default;
  };
  struct TwoPoint {
    double share = 0;  // share of the factors that equal `value`; the others are 1
    double value = 1;
    friend bool operator==(const TwoPoint&, const TwoPoint&) = default;
  };
  using Measured = std::vector<double>;  // ascending, not empty: each value is equally likely

  Distribution(std::variant<Normal, Lognormal, TwoPoint, Measured> of) : of_(std::move(of)) {}

  // Returns the value below which a share `u` in (0, 1) lies: a draw, for a uniform u. The value never falls as u
  // rises.
  double quantile(double u) const;
  std::string yaml() const;  // as in a scenario

  friend bool operator==(const Distribution&, const Distribution&) = default;

 private:
  std::variant<Normal, Lognormal, TwoPoint, Measured> of_;
};

// Reads {normal: {mean, deviation}}, {lognormal: {median, sigma}}, {two_point: {share, value}}, {values: [...]}, or the
// path of a CSV file with the values in the column `column`. `relative`: the values are divided by their mean.
Distribution read_distribution(const Node& node, const char* column, bool relative = false);

}  // namespace mirfak
