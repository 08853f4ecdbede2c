#pragma once

#include "simulation/spread.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace mirfak {

// Output that `mirfak simulate --samples` adds on many iterations.
std::string spread_text(const Spread& spread);
nlohmann::ordered_json spread_json(const Spread& spread);

std::string quantile_name(double share);  // "p95"
nlohmann::ordered_json quantile_json(const SampleQuantile& of);

}  // namespace mirfak
