#pragma once

#include "scenario/jobs_file.hpp"
#include "scenario/scenario.hpp"
#include "simulation/joint_links.hpp"

#include <filesystem>
#include <optional>
#include <string>

namespace mirfak {

inline constexpr double kNotableSteal = 0.01;  // a share that explains errors of measured times

// The circumstances of a measured iteration.
struct Measurement {
  std::string machine;    // description of the machine, for people
  std::string backend;    // "cpu"
  int iterations = 0;     // number of measured iterations; the trace is of the one with the median time
  double shortest_s = 0;  // shortest of the measured iterations
  double longest_s = 0;
  double clock_error_s = 0;            // largest difference between the clocks of two ranks
  std::optional<double> stolen_share;  // share of the time with runnable processors that a hypervisor took
  double mark_s = 0;                   // time to record one task's time, already subtracted in the timeline
  std::optional<double> energy_j{};    // energy of an iteration, all GPUs, by the GPUs' own counters
};

// Writes the trace of one iteration (schema: README.md of this folder). Equal simulations give equal bytes. The file
// appears under its name when it is complete, and replaces an existing file, or does not appear at all. Throws
// Error(input) if there is no folder to write to, Error(internal) if writing fails. Needs about 10 bytes of memory a
// task.
void write_trace(const std::filesystem::path& path, const Scenario& scenario, const Simulation& simulation);
// Writes the trace of an iteration that was executed on real hardware; its timeline holds the measured times.
// Quantities that were not measured are absent: power over time, memory, cost, and energy if no card counts it.
void write_trace(const std::filesystem::path& path, const Scenario& scenario, const Simulation& simulation,
                 const Measurement& measurement);

// Writes the trace of several jobs on one cluster: all their iterations, each job in a group of its own, with the links
// that they share. `simulation` is the simulation of the file's jobs, `links` their use of the network.
void write_trace(const std::filesystem::path& path, const JobsFile& jobs, const JointSimulation& simulation,
                 const NetworkUse& links);

}  // namespace mirfak
