#pragma once

#include "scenario/scenario.hpp"
#include "training/training_power.hpp"

#include <nlohmann/json_fwd.hpp>

#include <filesystem>
#include <string>

namespace mirfak {

// Return the power over a training without its series: in words, and as the JSON of trace/README.md.
std::string training_power_text(const TrainingPower& power);
nlohmann::ordered_json training_power_json(const TrainingPower& power);

// Writes the power over a training with its series. Errors as of power_format_of() and StagedFile.
void write_training_power(const std::filesystem::path& path, const Scenario& scenario, const TrainingPower& power);

}  // namespace mirfak
