#pragma once

#include "scenario/jobs_file.hpp"
#include "scenario/scenario.hpp"
#include "simulation/joint_links.hpp"

#include <filesystem>
#include <optional>
#include <string>

namespace mirfak {

inline constexpr double kNotableSteal = 0.01;  // a share that explains errors of measured times

// How an iteration was measured.
struct Measurement {
  std::string machine;    // what it ran on, for people
  std::string backend;    // "cpu"
  int iterations = 0;     // measured; the trace is of the one that took the median time
  double shortest_s = 0;  // of them
  double longest_s = 0;
  double clock_error_s = 0;            // by which clocks of two ranks may differ
  std::optional<double> stolen_share;  // of the time for which processors had something to run, taken by a hypervisor
  double mark_s = 0;                   // what taking the time of a task took, and was taken out of the timeline
  std::optional<double> energy_j{};    // of an iteration, all GPUs, by their own counters
};

// Writes the trace of one iteration (schema: README.md of this folder). The same simulation gives the same bytes.
// The file appears under its name when it is complete, replacing what was there, or not at all. Throws Error(input)
// where there is no folder to write to, Error(internal) when writing fails. Needs some 10 bytes of memory a task.
void write_trace(const std::filesystem::path& path, const Scenario& scenario, const Simulation& simulation);
// The same of an iteration that was executed on real hardware; its timeline is what was measured. What was not measured
// is not there: power over time, memory, money; energy where no card counts it.
void write_trace(const std::filesystem::path& path, const Scenario& scenario, const Simulation& simulation,
                 const Measurement& measurement);

// The same of several jobs on one cluster: all their iterations, each job in a group of its own, with the links that
// they share. `simulation` is that of the file's jobs, `links` what these take of the network.
void write_trace(const std::filesystem::path& path, const JobsFile& jobs, const JointSimulation& simulation,
                 const NetworkUse& links);

}  // namespace mirfak
