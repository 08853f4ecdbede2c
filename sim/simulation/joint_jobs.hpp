#pragma once

#include "simulation/iteration.hpp"

#include <span>
#include <vector>

namespace mirfak {

// Of a job that runs beside others.
struct JobAmongOthers {
  IterationResult alone;  // with the whole network for itself
  int iterations = 0;     // that ended while every job was running
  double mean_s = 0;      // of these
  double least_s = 0;
  double most_s = 0;

  double slowdown() const { return mean_s / alone.iteration_time_s - 1; }
};

// Jobs that run on one cluster at the same time.
struct JointResult {
  std::vector<JobAmongOthers> jobs;  // in the order given
  double together_s = 0;             // how long all of them ran
  std::size_t contended_links = 0;  // over which several jobs send, and which may be short; of those that are alike one
  std::uint64_t events = 0;
};

// Executes iteration after iteration of every job, all from 0 on, until each has ended `iterations` of them while all
// others were running; a job of short iterations runs more of them. They share the links between switches; nodes are
// each job's own. With links for all, or on links that no other uses, a job takes its time alone to the picosecond.
//
// Jobs have parts of one cluster (Job::part). Where a job's replicas lie differently beside others, a folded program
// takes them to be as slow as the slowest; an unfolded one has each for itself.
JointResult simulate_together(std::span<const Job> jobs, int iterations, const LoweringOptions& options = {});

}  // namespace mirfak
