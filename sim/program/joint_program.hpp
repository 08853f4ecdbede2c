#pragma once

#include "program/lowering.hpp"
#include "program/program.hpp"

#include <span>
#include <vector>

namespace mirfak {

// A job among others, and how many iterations it runs, one behind the other.
struct JointJob {
  const LoweredJob* lowered = nullptr;
  int iterations = 1;
  Picoseconds begins = 0;  // when its first iteration does
};

// Where a job's ids begin in a joint program. Behind them those of the next job follow, so that each kind of a job's
// ids is one stretch; tasks of its iterations are those of its own program, one iteration after the other.
struct JobOffsets {
  std::uint32_t ranks = 0;
  StreamId streams = 0;
  ClassId classes = 0;
  GroupId groups = 0;
  GroupingId groupings = 0;
  TaskId tasks = 0;
};

// Several jobs as one program, in which they share the links between switches.
struct JointProgram {
  Program program;
  std::vector<JobOffsets> first;  // of each job
  // Of each job, of each of its iterations, the first of its tasks, and the task of no length in which it ends: when
  // all its ranks are done. The next one begins there.
  std::vector<std::vector<TaskId>> begins;
  std::vector<std::vector<TaskId>> ends;
  std::size_t contended_links = 0;  // that may be short, and over which several jobs send

  std::vector<std::uint32_t> job_of_rank() const;  // by index into Program::ranks
};

// Ranks keep the numbers that they have in their job. `all_links`: also those that cannot be short, where the jobs were
// lowered with all. Error(infeasible) for more than some 130 million tasks.
JointProgram join(std::span<const JointJob> jobs, bool all_links = false);

}  // namespace mirfak
