#pragma once

#include "program/joint_program.hpp"
#include "simulation/iteration.hpp"

#include <span>
#include <vector>

namespace mirfak {

// A job among others on one cluster, whose nodes it has a part of (Job::part).
struct JobAmong {
  Job job;
  double begins_s = 0;  // when its first iteration does
};

// Of a job that runs beside others.
struct JobAmongOthers {
  IterationResult alone;     // with the whole network for itself
  IterationResult together;  // of its counted iterations on average
  int first = 0;             // of its iterations, the first that counts: it and all behind it began while all jobs ran
  int iterations = 0;        // ... and how many ended while they did
  double mean_s = 0;         // of these
  double least_s = 0;
  double most_s = 0;
  double later_mean_s = 0;  // of their second half: as long where the jobs have settled

  double slowdown() const { return mean_s / alone.iteration_time_s - 1; }
};

// Jobs that run on one cluster at the same time.
struct JointSimulation {
  std::vector<Simulation> alone;  // each job's iteration with the whole network for itself
  JointProgram joint;             // all iterations of all jobs
  Timeline timeline;              // of the joint program
  Picoseconds from = 0;           // from when on all jobs run
  Picoseconds to = 0;             // ... until when
  std::vector<JobAmongOthers> jobs;

  double together_s() const { return to_seconds(to - from); }
  // When a job's iteration began, and when it ended.
  Picoseconds begin_of(std::size_t job, std::size_t iteration) const;
  Picoseconds end_of(std::size_t job, std::size_t iteration) const;
  // One iteration of a job, as of its own program (alone[job].program) and from 0 on.
  Timeline iteration_of(std::size_t job, std::size_t iteration) const;
  // All iterations of a job as if they were one: its program is theirs, one behind the other and without links, its
  // timeline that of the joint one. The result is that of an iteration on average.
  Simulation run_of(std::size_t job) const;
};

// Executes iteration after iteration of every job, from when it begins on, until each has begun and ended `iterations`
// of them while all others were running; a job of short iterations runs more of them. They share the links between
// switches; nodes are each job's own. With links for all, or on links that no other uses, a job takes its time alone to
// the picosecond.
//
// Where a job's replicas lie differently beside others, a folded program takes them to be as slow as the slowest; an
// unfolded one has each for itself.
JointSimulation simulate_together(std::span<const JobAmong> jobs, int iterations, const LoweringOptions& options = {});

}  // namespace mirfak
