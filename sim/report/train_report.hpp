#pragma once

#include "scenario/scenario.hpp"
#include "training/prediction.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace mirfak {

// A training that was simulated, with what is to be said about it.
struct TrainReport {
  const Scenario& scenario;
  const TrainingPrediction& prediction;
  std::vector<std::string> notes = {};
};

// The prediction of a whole training for people: how long, where the time goes, what interrupts it, what it costs, and
// a drawing of the run that ends at the median, `width` characters wide.
std::string train_text(const TrainReport& report, int width = 72);

// The same for programs (README.md has the keys).
nlohmann::ordered_json train_json(const TrainReport& report, double wall_time_s);

// By a cause of its failures, as stated; of a log, on the mean of the runs.
double interruptions_per_day(const TrainingPrediction& prediction, std::size_t cause);

}  // namespace mirfak
