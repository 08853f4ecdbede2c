#pragma once

#include "simulation/iteration.hpp"

#include <string>
#include <vector>

namespace mirfak {

// All kernels of one name, or all collectives, or all transfers: of a GPU, on average over the ranks of a job.
struct KernelSeconds {
  TaskKind kind{};            // kernel, optimizer, collective or transfer
  std::string name;           // as in a timeline of operators: "qkv", "reduce gradients"
  bool communicates = false;  // kernels that wait for communication do, too
  double times = 0;           // how many an iteration has
  double seconds = 0;         // that all of them take, from their starts to their ends, beside others or not
};

// The kernels and the communication of an iteration, executed kernel by kernel. Kernels (with the optimizer) add up to
// what activities say of computing. Of a transfer the end that sends counts. Error(infeasible) where there are more
// than a program can hold.
std::vector<KernelSeconds> kernel_seconds(const Simulation& simulation);

}  // namespace mirfak
