#pragma once

#include "simulation/joint_jobs.hpp"
#include "simulation/spread.hpp"

#include <span>
#include <vector>

namespace mirfak {

// The sampled iterations of one job: in parallel with the others, and alone with the same draws.
struct JobSpread {
  double without_s = 0;  // in parallel with the others, with no factors at all
  std::vector<double> together_s;
  std::vector<double> alone_s;
  SampleMean together;
  SampleMean alone;
  SampleMean others_add;  // together minus alone
  double together_deviation_s = 0;
  double alone_deviation_s = 0;
  std::vector<SampleQuantile> together_quantiles;  // 0.5, 0.95, 0.99
  std::vector<SampleQuantile> alone_quantiles;

  // Returns the part of the variance in parallel with the others that is absent alone: the part that the others'
  // traffic makes, which comes and goes with their own factors. Below 0: the others even the job's times out.
  double others_share_of_variance() const;
};

struct JointSpread {
  std::uint64_t seed = 0;
  bool antithetic = true;
  int iteration = 0;  // number, from 1, of the iteration of each sample whose time counts
  std::vector<JobSpread> jobs;
};

// Samples many runs of jobs that run together, each run with its own draw of their clusters' perturbations
// (Job::cluster): factors of ranks, nodes and ports hold for the whole run, all other factors are drawn for each
// iteration. A sample is one run. The time of a job in a sample is the time of one iteration, number `iterations` of
// those that begin while all jobs run, so that samples are independent and the jobs have run past each other before.
// Every rank is explicit. The result has the same bits for one seed on any number of threads. Error(infeasible) if
// nothing is drawn, or if factors differ so much that some job runs out of iterations.
JointSpread sample_together(std::span<const JobAmong> jobs, int iterations, const SpreadOptions& options);

}  // namespace mirfak
