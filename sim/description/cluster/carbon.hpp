#pragma once

#include <string>
#include <vector>

namespace mirfak {

inline constexpr double kJoulesPerKilowattHour = 3.6e6;

// Emissions of a kilowatt-hour of a grid, in grams of CO2 (equivalents, if the source counts them): one number, or one
// number for every hour from the start of a training on. After the last hour the numbers repeat.
class CarbonIntensity {
 public:
  CarbonIntensity() = default;
  CarbonIntensity(std::vector<double> grams_per_kwh, std::string source);

  bool known() const { return !hourly_.empty(); }
  bool constant() const { return hourly_.size() == 1; }
  double mean() const;  // mean over all hours; 0 if not known
  const std::string& source() const { return source_; }
  // Returns the grams that one watt emits from second 0 to `seconds`.
  double grams_per_watt(double seconds) const;

 private:
  std::vector<double> hourly_;
  std::vector<double> before_;  // sums of the hours before each hour, and of all hours
  std::string source_;
};

}  // namespace mirfak
