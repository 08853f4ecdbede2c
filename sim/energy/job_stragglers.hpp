#pragma once

#include "program/job.hpp"

#include <string>
#include <vector>

namespace mirfak {

// What cluster.perturbations mean for a pipeline among others of a job.
struct JobStragglers {
  Job even;                       // the job without them
  std::vector<double> slowdowns;  // of the slowest pipeline: how many times as long an iteration takes with them
  std::vector<std::string> notes;
};

// Fixed factors make one slowdown, that of the iteration with them. Drawn ones make two, the median and the 95th
// percentile of `samples` iterations with the seed of the scenario. Slowdowns of 1 are left out.
JobStragglers job_stragglers(const Job& job, int samples = 1000);

}  // namespace mirfak
