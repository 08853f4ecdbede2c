#pragma once

#include "base/section.hpp"
#include "scenario/scenario.hpp"
#include "training/prediction.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace mirfak {

// A simulated training, with notes on it.
struct TrainReport {
  const Scenario& scenario;
  const TrainingPrediction& prediction;
  std::vector<std::string> notes = {};
};

// Returns the prediction of a whole training for people: its length, the use of its time, its interruptions, its cost,
// and a drawing of the run that ends at the median, `width` characters wide.
std::string train_text(const TrainReport& report, int width = 72);

// Returns the prediction for programs (README.md has the keys).
nlohmann::ordered_json train_json(const TrainReport& report, double wall_time_s);

// Returns the causes that interrupt a training. The failures by a cause per day are its stated rate or, with a log of
// failures, the mean of the runs.
Table causes_table(const TrainingPrediction& prediction);

}  // namespace mirfak
