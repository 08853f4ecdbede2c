#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace mirfak {

// Variation of the measured iterations; a trace holds the iteration of median length.
struct MeasuredRange {
  int iterations = 0;
  double shortest_s = 0;
  double longest_s = 0;
  double clock_error_s = 0;            // largest difference between the clocks of two ranks
  std::optional<double> stolen_share;  // share of the processors' time taken by a hypervisor; absent: not known
  double mark_s = 0;                   // time to record one task's time, already subtracted from that time
};

// A trace as it was written (README.md of this folder), columns of /tasks in their order.
struct TraceFile {
  std::string name;  // name of the file
  bool measured = false;
  std::string scenario;  // resolved YAML
  double iteration_time_s = 0;
  std::optional<double> energy_j;  // energy of the iteration, all GPUs; absent: not measured
  MeasuredRange range;             // range of a measured trace

  std::vector<std::uint32_t> rank;
  std::vector<std::uint8_t> stream;  // codes, whose texts are in stream_names
  std::vector<std::uint8_t> kind;
  std::vector<std::uint32_t> task_name;
  std::vector<std::int32_t> stage;
  std::vector<std::int32_t> chunk;
  std::vector<std::int32_t> microbatch;
  std::vector<double> start_s;
  std::vector<double> end_s;
  std::vector<double> bytes;
  std::vector<std::string> stream_names;
  std::vector<std::string> kind_names;
  std::vector<std::string> task_names;

  // Dependencies of a measured trace: task i waits for dependencies[dependency_begin[i] .. dependency_begin[i + 1]).
  std::vector<std::int64_t> dependency_begin;
  std::vector<std::uint32_t> dependencies;

  std::size_t size() const { return start_s.size(); }
  double seconds(std::size_t task) const { return end_s[task] - start_s[task]; }
  const std::string& stream_of(std::size_t task) const { return stream_names[stream[task]]; }
  const std::string& kind_of(std::size_t task) const { return kind_names[kind[task]]; }
  const std::string& name_of(std::size_t task) const { return task_names[task_name[task]]; }
  std::span<const std::uint32_t> dependencies_of(std::size_t task) const {
    return {dependencies.data() + dependency_begin[task], dependencies.data() + dependency_begin[task + 1]};
  }
};

// Reads a trace. Error(input) for a file that is not a trace of this schema, or whose columns do not belong together.
TraceFile read_trace(const std::filesystem::path& path);

}  // namespace mirfak
