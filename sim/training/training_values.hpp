#pragma once

#include "cluster/facility.hpp"
#include "simulation/summary_values.hpp"
#include "training/prediction.hpp"

#include <vector>

namespace mirfak {

// The single figures of a whole training under their keys in JSON, in the order in which they are written; a dot stands
// before the keys of an object inside ("lost.rework_s").
std::vector<SummaryValue> training_values(const TrainingPrediction& prediction, const Facility& facility);

// Their keys alone: of a training of one iteration.
std::vector<SummaryValue> training_keys();

// The figures where chance made the times to finish so many of their standard errors longer, and with them all that
// follows from the mean one.
std::vector<SummaryValue> training_values_at(TrainingPrediction prediction, const Facility& facility, double errors);

}  // namespace mirfak
