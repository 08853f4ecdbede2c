#pragma once

#include "base/document.hpp"

#include <string>
#include <variant>
#include <vector>

namespace mirfak {

// That a scenario may state of any time.
inline constexpr double kLowestFactor = 0.01;
inline constexpr double kHighestFactor = 1000;

// How factors of time are spread. All are above 0: what would fall below 0.01 is 0.01.
class Distribution {
 public:
  struct Normal {
    double mean = 1;
    double deviation = 0;
    friend bool operator==(const Normal&, const Normal&) = default;
  };
  struct Lognormal {
    double median = 1;
    double sigma = 0;  // of the logarithm
    friend bool operator==(const Lognormal&, const Lognormal&) = default;
  };
  struct TwoPoint {
    double share = 0;  // of those that have `value`; the others have 1
    double value = 1;
    friend bool operator==(const TwoPoint&, const TwoPoint&) = default;
  };
  using Measured = std::vector<double>;  // ascending, not empty: each as likely

  Distribution(std::variant<Normal, Lognormal, TwoPoint, Measured> of) : of_(std::move(of)) {}

  // The value below which a share `u` in (0, 1) lies: a draw, for a uniform u. Never falls as u rises.
  double quantile(double u) const;
  std::string yaml() const;  // as a scenario writes it

  friend bool operator==(const Distribution&, const Distribution&) = default;

 private:
  std::variant<Normal, Lognormal, TwoPoint, Measured> of_;
};

// Reads {normal: {mean, deviation}}, {lognormal: {median, sigma}}, {two_point: {share, value}}, {values: [...]}, or the
// path of a CSV file whose column `column` has the values. `relative`: divided by their mean.
Distribution read_distribution(const Node& node, const char* column, bool relative = false);

}  // namespace mirfak
