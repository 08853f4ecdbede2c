#pragma once

#include "program/lowering.hpp"
#include "program/program.hpp"

#include <span>
#include <vector>

namespace mirfak {

// A job among others, and the number of iterations that it runs, one after the other.
struct JointJob {
  const LoweredJob* lowered = nullptr;
  int iterations = 1;
  Picoseconds begins = 0;  // time at which its first iteration begins
};

// First ids of a job in a joint program. The ids of the next job follow, so that a job's ids of each kind are
// contiguous; the tasks of a job's iterations are those of the job's own program, one iteration after the other.
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
  std::vector<JobOffsets> first;  // offsets of each job
  // For each job and each of its iterations: the first task, and the zero-length task in which the iteration ends, when
  // all ranks of the job are done. The next iteration begins there.
  std::vector<std::vector<TaskId>> begins;
  std::vector<std::vector<TaskId>> ends;
  std::size_t contended_links = 0;  // links that may be short and over which several jobs send

  std::vector<std::uint32_t> job_of_rank() const;  // by index into Program::ranks
};

// Joins jobs into one program. Ranks keep the numbers that they have in their job. `all_links`: also adds links that
// cannot be short, for jobs that were lowered with all links. Error(infeasible) for more than some 130 million tasks.
JointProgram join(std::span<const JointJob> jobs, bool all_links = false);

}  // namespace mirfak
