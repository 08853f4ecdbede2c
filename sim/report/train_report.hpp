#pragma once

#include "scenario/scenario.hpp"
#include "training/prediction.hpp"

#include <nlohmann/json.hpp>

#include <string>

namespace mirfak {

// The prediction of a whole training for people: how long, where the time goes, what interrupts it, what it costs, and
// a drawing of the run that ends at the median, `width` characters wide.
std::string train_text(const Scenario& scenario, const TrainingPrediction& prediction, int width = 72);

// The same for programs (README.md has the keys).
nlohmann::ordered_json train_json(const Job& job, const TrainingPrediction& prediction, double wall_time_s);

}  // namespace mirfak
