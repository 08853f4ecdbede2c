#pragma once

#include "program/job.hpp"

#include <string>
#include <vector>

namespace mirfak {

// Effect of cluster.perturbations on one pipeline of a job.
struct JobStragglers {
  Job even;                       // the job without perturbations
  std::vector<double> slowdowns;  // ratios of the iteration's time to that without perturbations
  std::vector<std::string> notes;
};

// Finds the slowdowns. Fixed factors make one slowdown, that of the iteration with these factors. Drawn factors make
// two, the median and the 95th percentile of `samples` iterations with the seed of the scenario. Slowdowns of 1 are
// left out.
JobStragglers job_stragglers(const Job& job, int samples = 1000);

}  // namespace mirfak
