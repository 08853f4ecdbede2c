// Prints figures as base/units.hpp shows them, as JSON: [function, value, text]. pages_test.py has the script of pages
// show the same ones.

#include "base/units.hpp"

#include <nlohmann/json.hpp>

#include <cmath>
#include <iostream>
#include <random>
#include <string>
#include <utility>
#include <vector>

int main() {
  using namespace mirfak;
  std::vector<double> values = {0,    1,    8,    999.4,  999.5,  999.7,   1000,  1023.9,
                                1024, 7199, 7200, 172800, 0.9996, 0.12345, 12.25, 12.35};
  std::mt19937_64 random(7);
  for (int i = 0; i < 400; ++i) {
    const double exponent = std::uniform_real_distribution(-8.0, 22.0)(random);
    values.push_back(std::pow(10, exponent));
  }
  using Format = std::string (*)(double);
  const std::vector<std::pair<const char*, Format>> formats = {
      {"number", format_number},
      {"seconds", [](double value) { return format_seconds(value); }},
      {"bytes", format_bytes},
      {"flop", format_flop},
      {"count", format_count},
      {"joules", [](double value) { return format_joules(value); }},
      {"watts", format_watts},
      {"wattHours", format_watt_hours},
      {"kilograms", format_kilograms},
      {"percent", format_percent},
      {"signedPercent", format_signed_percent},
      {"usd", format_usd}};
  nlohmann::json out = nlohmann::json::array();
  for (const auto& [name, format] : formats) {
    for (const double value : values) {
      // Beyond, a percentage has more digits than a double means.
      if (std::string(name).find("ercent") != std::string::npos && value > 1e9) continue;
      out.push_back({name, value, format(value)});
    }
  }
  std::cout << out.dump() << '\n';
}
