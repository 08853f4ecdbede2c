#pragma once

#include "trace/power_file.hpp"
#include "training/training_power.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace mirfak {

// Return the power over a training without its series: in words, and as the JSON of trace/README.md.
std::string training_power_text(const TrainingPower& power);
nlohmann::ordered_json training_power_json(const TrainingPower& power);

// Returns the power over a training as a file, with its series. `scenario`: completed.
PowerFile power_file_of(const TrainingPower& power, const std::string& scenario);

}  // namespace mirfak
