#pragma once

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mirfak::measure {

// The machine that this process runs on.
struct Machine {
  std::string processor;  // "AMD EPYC 9B14"
  int cores = 1;          // that this process may use
  double memory_bytes = 0;
  double cache_bytes = 0;                                   // last level; 0: not known
  double clock_hz = 0;                                      // highest; 0: not known
  std::string system;                                       // "Linux 6.1.0"
  std::string mpi;                                          // "Open MPI v4.1.4"
  std::string libraries;                                    // "Eigen 3.4.0"
  std::optional<double> stolen_share;                       // of this process's life; absent: not known
  std::vector<std::pair<std::string, std::string>> device;  // of a GPU that was measured: key and value

  std::string summary() const;                                       // a line for people
  std::vector<std::pair<std::string, std::string>> entries() const;  // key and value, in this order
};

// `stolen_share` counts from the first call of stolen_share_of_process().
Machine describe_machine();

// The identity of a kernel, and so of the clock and the GPUs of all processes on it, whatever container they are in.
using MachineId = std::array<char, 40>;
MachineId this_machine();

}  // namespace mirfak::measure
