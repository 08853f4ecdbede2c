#include "cluster/carbon.hpp"

#include "base/units.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace mirfak {

CarbonIntensity::CarbonIntensity(std::vector<double> grams_per_kwh, std::string source)
    : hourly_(std::move(grams_per_kwh)), before_{0}, source_(std::move(source)) {
  for (const double grams : hourly_) before_.push_back(before_.back() + grams);
}

double CarbonIntensity::mean() const { return known() ? before_.back() / static_cast<double>(hourly_.size()) : 0; }

double CarbonIntensity::grams_per_watt(double seconds) const {
  if (!known()) return 0;
  if (constant()) return hourly_.front() * seconds / kJoulesPerKilowattHour;
  const double hours = seconds / kSecondsPerHour;
  const auto count = static_cast<double>(hourly_.size());
  const double rounds = std::floor(hours / count);
  const double left = hours - rounds * count;
  const auto whole = std::min(static_cast<std::size_t>(left), hourly_.size() - 1);
  const double sum = rounds * before_.back() + before_[whole] + (left - static_cast<double>(whole)) * hourly_[whole];
  return sum * kSecondsPerHour / kJoulesPerKilowattHour;
}

}  // namespace mirfak
