#pragma once

#include "capture/capture_result.hpp"
#include "simulation/figures.hpp"

#include <vector>

namespace mirfak {

// Returns the figures of an iteration that a capture has, with their keys and meanings (simulation/figures.hpp), in the
// order of iteration_figures(). Figures that need a model or a strategy (tokens_per_s, mfu) are unknown and not asked
// for. Stages are ranks here, and `gpus` are those with a rank.
std::vector<FigureValue> figure_values(const CaptureResult& result, const Facility& facility);

}  // namespace mirfak
