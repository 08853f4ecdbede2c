#pragma once

#include "base/figure.hpp"
#include "cluster/facility.hpp"
#include "training/prediction.hpp"

#include <span>
#include <string>
#include <vector>

namespace mirfak {

// The inputs of figures of a whole training.
struct TrainingInputs {
  const TrainingPrediction& prediction;
  const Facility& facility;
};

// A figure of a whole training; a dot stands before the keys of an object inside ("lost.rework_s").
using TrainingFigure = FigureOf<TrainingInputs>;

// All single figures of a training, in the order in which they are written.
std::span<const TrainingFigure> training_figures();
// Error(internal) for a key that no figure has.
const TrainingFigure& training_figure(std::string_view key);

std::vector<FigureValue> training_values(const TrainingPrediction& prediction, const Facility& facility);

// The figures where chance made the times to finish so many of their standard errors longer, and with them all that
// follows from the mean one.
std::vector<FigureValue> training_values_at(TrainingPrediction prediction, const Facility& facility, double errors);

}  // namespace mirfak
