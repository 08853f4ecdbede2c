#pragma once

#include "simulation/iteration.hpp"
#include "training/course.hpp"
#include "training/estimate.hpp"

#include <optional>
#include <vector>

namespace mirfak {

inline constexpr int kMostTrainingRuns = 10'000'000;

// A simulated training, with everything it was made from.
struct TrainingPrediction {
  TrainingCourse course;
  TrainingEstimate estimate = {};
  IterationResult iteration = {};  // an iteration of the full batch
  double undisturbed_s = 0;        // iterations alone
  // Best intervals of the last tier (storage) and of the tier in memory; absent: there are no such checkpoints, or no
  // failures.
  std::optional<double> best_interval_s = {};
  std::optional<double> best_memory_interval_s = {};
  std::optional<int> best_spares = {};   // absent: nodes are not repaired, or a log states the failures
  std::vector<RunSpan> median_run = {};  // stretches of the run that ends at the median
  double nameplate_energy_j = 0;         // GPU hours of the mean run times a GPU's specified power, without spares
  double gpu_hours = 0;
  double embodied_co2_kg = 0;
  double simulated_days_per_s = 0;  // speed at which the runs were simulated
};

// Predicts a training. Iterations are simulated first, one for each step of a ramp and one for the full batch. Errors
// as of simulate() and training_course().
TrainingPrediction predict_training(const Job& job, const Operations& operations, int samples, std::uint64_t seed);

}  // namespace mirfak
