#pragma once

#include "base/figure.hpp"
#include "cluster/facility.hpp"
#include "training/prediction.hpp"

#include <span>
#include <string>
#include <vector>

namespace mirfak {

// Inputs from which the figures of a whole training are computed.
struct TrainingInputs {
  const TrainingPrediction& prediction;
  const Facility& facility;
};

// A figure of a whole training; a dot separates the keys of nested objects ("lost.rework_s").
using TrainingFigure = FigureOf<TrainingInputs>;

// Returns all single figures of a training, in the order in which they are written.
std::span<const TrainingFigure> training_figures();
// Returns the figure of a key. Error(internal) for a key that no figure has.
const TrainingFigure& training_figure(std::string_view key);

std::vector<FigureValue> training_values(const TrainingPrediction& prediction, const Facility& facility);

// Returns the figures if chance made the times to finish longer by `errors` of their standard errors, with everything
// that follows from the mean time.
std::vector<FigureValue> training_values_at(TrainingPrediction prediction, const Facility& facility, double errors);

}  // namespace mirfak
