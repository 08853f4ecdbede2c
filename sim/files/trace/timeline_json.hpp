#pragma once

#include "simulation/joint_links.hpp"

#include <filesystem>

namespace mirfak {

// Writes the timeline in Chrome's trace event format, for Perfetto and chrome://tracing: a process per rank, a thread
// per stream, a complete event per task that takes time, a flow from each send to its receive. Times are exact to the
// picosecond. The file appears under its name when it is complete, or not at all; errors as of write_trace.
void write_timeline_json(const std::filesystem::path& path, const Simulation& simulation);
// Writes the timeline of several jobs: all their iterations, with a process per rank, which is numbered by its device
// on the cluster and named after its job. `links`: the jobs' use of the network, with the jobs' names.
void write_timeline_json(const std::filesystem::path& path, const JointSimulation& simulation, const NetworkUse& links);
// Writes the timeline of a program that was not made from a job: no rank stands for others.
void write_timeline_json(const std::filesystem::path& path, const Program& program, const Timeline& timeline);

}  // namespace mirfak
