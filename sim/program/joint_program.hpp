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
};

// Several jobs as one program, in which they share the links between switches.
struct JointProgram {
  Program program;
  // Of each job, of each of its iterations, the task of no length in which it ends: when all its ranks are done. The
  // next one begins there.
  std::vector<std::vector<TaskId>> ends;
  std::size_t contended_links = 0;  // that may be short, and over which several jobs send
};

// All jobs begin at 0. Ranks keep the numbers that they have in their job. Error(infeasible) for more than some 130
// million tasks.
JointProgram join(std::span<const JointJob> jobs);

}  // namespace mirfak
