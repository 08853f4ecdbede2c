#pragma once

#include "simulation/joint_jobs.hpp"
#include "simulation/spread.hpp"

#include <span>
#include <vector>

namespace mirfak {

// Of one job, its iteration in each sample: beside the others, and alone with the same draws.
struct JobSpread {
  double without_s = 0;  // beside the others, with no factors at all
  std::vector<double> together_s;
  std::vector<double> alone_s;
  SampleMean together;
  SampleMean alone;
  SampleMean others_add;  // together less alone
  double together_deviation_s = 0;
  double alone_deviation_s = 0;
  std::vector<SampleQuantile> together_quantiles;  // 0.5, 0.95, 0.99
  std::vector<SampleQuantile> alone_quantiles;

  // Of the variance beside the others, the part that is not there alone: what the others' traffic, which comes and goes
  // as their own factors have it, makes of it. Below 0: they even it out.
  double others_share_of_variance() const;
};

struct JointSpread {
  std::uint64_t seed = 0;
  bool antithetic = true;
  int iteration = 0;  // of each sample the one whose time counts, from 1
  std::vector<JobSpread> jobs;
};

// Many runs of jobs that run together, each with its own draw of their clusters' perturbations (Job::cluster): factors
// of ranks, nodes and ports hold for the whole run, all others are drawn for each iteration. A sample is one run; its
// time of a job is that of one iteration, number `iterations` of those that begin while all jobs run, so that samples
// are independent and the jobs have run past each other before. Every rank is explicit. The same bits for one seed on
// any number of threads. Error(infeasible) where nothing is drawn, or so differently that some job runs out of
// iterations.
JointSpread sample_together(std::span<const JobAmong> jobs, int iterations, const SpreadOptions& options);

}  // namespace mirfak
