#pragma once

#include "program/joint_program.hpp"
#include "simulation/iteration.hpp"

#include <span>
#include <vector>

namespace mirfak {

// A job among others on one cluster, which has a part of the cluster's nodes (Job::part).
struct JobAmong {
  Job job;
  double begins_s = 0;  // when its first iteration begins
};

// Figures of a job that runs in parallel with others.
struct JobAmongOthers {
  IterationResult alone;     // with the whole network for itself
  IterationResult together;  // mean of its counted iterations
  int first = 0;             // index of the first counted iteration: it and all later ones began while all jobs ran
  int iterations = 0;        // number of counted iterations, which also ended while all jobs ran
  double mean_s = 0;         // mean time of the counted iterations
  double least_s = 0;
  double most_s = 0;
  double later_mean_s = 0;  // mean of their second half: equal to mean_s if the jobs have settled

  double slowdown() const { return mean_s / alone.iteration_time_s - 1; }
};

// Jobs that run on one cluster at the same time.
struct JointSimulation {
  std::vector<Simulation> alone;  // each job's iteration with the whole network for itself
  JointProgram joint;             // all iterations of all jobs
  Timeline timeline;              // times of the joint program
  Picoseconds from = 0;           // time from which on all jobs run
  Picoseconds to = 0;             // time until which all jobs run
  std::vector<JobAmongOthers> jobs;

  double together_s() const { return to_seconds(to - from); }
  // Return the times at which an iteration of a job began and ended.
  Picoseconds begin_of(std::size_t job, std::size_t iteration) const;
  Picoseconds end_of(std::size_t job, std::size_t iteration) const;
  // Returns the timeline of one iteration of a job, for the job's own program (alone[job].program) and starting at 0.
  Timeline iteration_of(std::size_t job, std::size_t iteration) const;
  // Returns all iterations of a job as if they were one: the program has its iterations one after the other and no
  // links, and the timeline is taken from the joint one. The result is that of the mean iteration.
  Simulation run_of(std::size_t job) const;
};

// Executes iteration after iteration of every job, from the job's beginning on, until each job has begun and ended
// `iterations` iterations while all others were running; a job of short iterations runs more of them. The jobs share
// the links between switches; nodes belong to one job each. If there is bandwidth for all jobs, or a job's links are
// used by no other job, its iterations take exactly as long as alone, to the picosecond.
//
// If a job's replicas are placed differently with respect to other jobs, a folded program takes all of them to be as
// slow as the slowest; an unfolded program has each replica for itself.
JointSimulation simulate_together(std::span<const JobAmong> jobs, int iterations, const LoweringOptions& options = {});

}  // namespace mirfak
