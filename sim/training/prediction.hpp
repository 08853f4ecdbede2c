#pragma once

#include "simulation/iteration.hpp"
#include "training/course.hpp"
#include "training/estimate.hpp"

#include <optional>
#include <vector>

namespace mirfak {

inline constexpr int kMostTrainingRuns = 10'000'000;

// A training that was simulated, with all that it was made from.
struct TrainingPrediction {
  TrainingCourse course;
  TrainingEstimate estimate = {};
  IterationResult iteration = {};  // of the full batch
  double undisturbed_s = 0;        // iterations alone
  // Of the last tier (storage), and of the one in memory; absent: there are no such checkpoints, or no failures.
  std::optional<double> best_interval_s = {};
  std::optional<double> best_memory_interval_s = {};
  std::optional<int> best_spares = {};   // absent: nodes are not repaired, or a log says what fails
  std::vector<RunSpan> median_run = {};  // stretches of the run that ends at the median
  double nameplate_energy_j = 0;         // GPU hours of the mean run times what a GPU is specified for, spares left out
  double gpu_hours = 0;
  double embodied_co2_kg = 0;
  double simulated_days_per_s = 0;  // of the runs: how fast they were
};

// Iterations are simulated first, one for each step of a ramp. Errors as of simulate() and training_course().
TrainingPrediction predict_training(const Job& job, const Operations& operations, int samples, std::uint64_t seed);

}  // namespace mirfak
