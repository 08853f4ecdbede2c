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
// Returns the quantile at `share`. `sorted`: ascending, not empty. The error is half the distance between the runs one
// standard deviation of a binomial count below and above it: no distribution is assumed.
Estimated quantile(std::span<const double> sorted, double share);

// Share of the runs that are done after a time.
struct FinishShare {
  double share = 0;
  double finish_s = 0;
};

// Statistics of many runs of one training, each with its own random numbers.
struct TrainingEstimate {
  int samples = 0;
  Estimated finish_p50_s;
  Estimated finish_p95_s;
  Estimated finish_mean_s;                 // its value is the sum of `parts`
  std::vector<FinishShare> finish_shares;  // from 0 to 1, in steps of a hundredth
  TimeParts parts{};                       // mean times
  double goodput = 0;                      // share of training in all parts
  double cost_usd = 0;                     // mean, like the figures below
  double energy_j = 0;                     // of the machine
  double around_j = 0;                     // part of energy_j: hosts and network
  double facility_energy_j = 0;
  double co2_kg = 0;
  double restarts = 0;
  std::vector<double> interruptions;  // by cause
  std::vector<double> lost_s;
  double simulated_s = 0;        // total of all runs
  std::uint64_t median_run = 0;  // the run that ends at the median: an argument of RandomStream
};

// Estimates a training from `samples` runs. The result has the same bits for any number of threads. Error(infeasible)
// as of run_training().
TrainingEstimate estimate_training(const TrainingCourse& course, int samples, std::uint64_t seed, int threads = 0);

// Returns the share of a long time in which all places would have a node, if nodes failed and were repaired whatever
// the job does: the number of nodes under repair is Poisson distributed (Palm's theorem), if each failure takes one
// node.
double share_of_time_complete(const TrainingCourse& course);

// Returns the number of spares, up to `most`, that makes a training cheapest. If nothing has a price: the smallest
// number with which the 95th percentile of the time to finish exceeds that with `most` spares by at most a tenth of a
// percent.
int best_spares(TrainingCourse course, int most, int samples, std::uint64_t seed);

}  // namespace mirfak
