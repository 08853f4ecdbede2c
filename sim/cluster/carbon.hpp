#pragma once

#include <string>
#include <vector>

namespace mirfak {

inline constexpr double kJoulesPerKilowattHour = 3.6e6;

// What a kilowatt-hour of a grid emits, in grams of CO2 (equivalents, where its source counts them): one number, or one
// for every hour from the start of a training on, which begin anew after the last.
class CarbonIntensity {
 public:
  CarbonIntensity() = default;
  CarbonIntensity(std::vector<double> grams_per_kwh, std::string source);

  bool known() const { return !hourly_.empty(); }
  bool constant() const { return hourly_.size() == 1; }
  double mean() const;  // over all hours; 0 unless known
  const std::string& source() const { return source_; }
  // Grams that one watt emits from second 0 to `seconds`.
  double grams_per_watt(double seconds) const;

 private:
  std::vector<double> hourly_;
  std::vector<double> before_;  // the sum of the hours before each, and of all
  std::string source_;
};

}  // namespace mirfak
