#pragma once

#include "simulation/iteration.hpp"

#include <string>
#include <vector>

namespace mirfak {

// All kernels, all collectives or all transfers of one name on a GPU, on average over the ranks of a job.
struct KernelSeconds {
  TaskKind kind{};            // kernel, optimizer, collective or transfer
  std::string name;           // name in a timeline of operators: "qkv", "reduce gradients"
  bool communicates = false;  // true for collectives, transfers, and kernels that mainly wait for communication
  double times = 0;           // number of executions in an iteration
  double seconds = 0;         // sum over all executions from start to end, overlapped with other tasks or not
};

// Returns the kernels and the communication of an iteration, executed kernel by kernel. The kernels (with the
// optimizer) add up to the activities' time of computing. A transfer counts at its sending end. Error(infeasible) if
// there are more kernels than a program can hold.
std::vector<KernelSeconds> kernel_seconds(const Simulation& simulation);

}  // namespace mirfak
