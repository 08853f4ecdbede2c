#pragma once

#include "training/run.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace mirfak {

// A figure of many runs, and its standard error by chance.
struct Estimated {
  double value = 0;
  double error = 0;
};
// `sorted`: ascending, not empty. The error is half of what lies between the runs one standard deviation of a
// binomial count around it: no distribution is assumed.
Estimated quantile(std::span<const double> sorted, double share);

// How many of the runs are done after so long.
struct FinishShare {
  double share = 0;
  double finish_s = 0;
};

// What many runs of one training, each by its own random numbers, have in common.
struct TrainingEstimate {
  int samples = 0;
  Estimated finish_p50_s;
  Estimated finish_p95_s;
  Estimated finish_mean_s;                 // its value is the sum of `parts`
  std::vector<FinishShare> finish_shares;  // from 0 to 1, in steps of a hundredth
  TimeParts parts{};                       // means
  double goodput = 0;                      // training over all parts
  double cost_usd = 0;                     // means, as what follows
  double energy_j = 0;
  double facility_energy_j = 0;
  double co2_kg = 0;
  double restarts = 0;
  std::vector<double> interruptions;  // by cause
  std::vector<double> lost_s;
  double simulated_s = 0;        // of all runs together
  std::uint64_t median_run = 0;  // the run that ends at the median: an argument of RandomStream
};

// The same bits for any number of threads. Error(infeasible) as of run_training().
TrainingEstimate estimate_training(const TrainingCourse& course, int samples, std::uint64_t seed, int threads = 0);

// For how much of a long time all places would have a node, if nodes failed and were repaired whatever the job does:
// the number under repair is Poisson's (Palm's theorem), where each failure takes one.
double share_of_time_complete(const TrainingCourse& course);

// How many spares, up to `most`, make a training cheapest; where nothing has a price, the fewest with which no more
// than one run in twenty takes longer than with all of them, to the tenth of a percent.
int best_spares(TrainingCourse course, int most, int samples, std::uint64_t seed);

}  // namespace mirfak
