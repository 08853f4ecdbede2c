#pragma once

#include "simulation/sensitivity.hpp"

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace mirfak {

// Output that `mirfak simulate --sensitivity` adds: a section of the text, the key `sensitivity` of JSON, a CSV with a
// row for each resource.
std::string sensitivity_text(const Sensitivity& sensitivity);
nlohmann::ordered_json sensitivity_json(const Sensitivity& sensitivity);
std::string sensitivity_csv(const Sensitivity& sensitivity);

}  // namespace mirfak
