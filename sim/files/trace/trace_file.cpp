#include "trace/trace_file.hpp"

#include "base/error.hpp"
#include "trace/hdf5_file.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace mirfak {

namespace {

[[noreturn]] void refuse(const std::filesystem::path& path, std::string message) {
  fail_input({path.string(), 0, 0}, std::move(message),
             "expected a trace that `mirfak simulate --trace` or `mirfak-measure run --out` wrote");
}

Hdf5File open_trace(const std::filesystem::path& path) {
  std::error_code unknown;
  if (!std::filesystem::exists(path, unknown)) fail_input({path.string(), 0, 0}, "there is no such file");
  try {
    Hdf5File file = Hdf5File::open(path);
    if (file.read_text("/", "filetype") == "mirfak trace") return file;
  } catch (const Error& error) {
    refuse(path, error.message());
  }
  refuse(path, "not a trace of mirfak");
}

template <typename Code>
void check_codes(const std::filesystem::path& path, const std::vector<Code>& codes, std::size_t names) {
  if (std::any_of(codes.begin(), codes.end(), [&](Code code) { return code >= names; })) {
    refuse(path, "a task refers to a name that is not in the file");
  }
}

void check_columns(const std::filesystem::path& path, const TraceFile& trace) {
  const std::size_t tasks = trace.size();
  for (const std::size_t length :
       {trace.rank.size(), trace.stream.size(), trace.kind.size(), trace.task_name.size(), trace.stage.size(),
        trace.chunk.size(), trace.microbatch.size(), trace.end_s.size(), trace.bytes.size()}) {
    if (length != tasks) refuse(path, "columns of /tasks are not equally long");
  }
  check_codes(path, trace.stream, trace.stream_names.size());
  check_codes(path, trace.kind, trace.kind_names.size());
  check_codes(path, trace.task_name, trace.task_names.size());
  if (trace.dependency_begin.empty()) return;
  const bool complete = trace.dependency_begin.size() == tasks + 1 && trace.dependency_begin.front() == 0 &&
                        std::is_sorted(trace.dependency_begin.begin(), trace.dependency_begin.end()) &&
                        trace.dependency_begin.back() == static_cast<std::int64_t>(trace.dependencies.size());
  if (!complete) refuse(path, "/dependencies does not belong to /tasks");
  for (std::size_t task = 0; task < tasks; ++task) {
    for (const std::uint32_t before : trace.dependencies_of(task)) {
      if (before >= task) refuse(path, "a task waits for one that stands after it");
    }
  }
}

MeasuredRange read_range(const Hdf5File& file) {
  MeasuredRange out;
  const double iterations = file.read_number("/summary", "iterations");
  if (!(iterations >= 0 && iterations <= 1e9)) fail_internal(fmt::format("it counts {} iterations", iterations));
  out.iterations = static_cast<int>(iterations);
  out.shortest_s = file.read_number("/summary", "shortest_iteration_s");
  out.longest_s = file.read_number("/summary", "longest_iteration_s");
  out.clock_error_s = file.read_number("/summary", "clock_error_s");
  if (file.has_attribute("/summary", "stolen_share")) out.stolen_share = file.read_number("/summary", "stolen_share");
  if (file.has_attribute("/summary", "mark_s")) out.mark_s = file.read_number("/summary", "mark_s");
  return out;
}

}  // namespace

TraceFile read_trace(const std::filesystem::path& path) {
  const Hdf5File file = open_trace(path);
  TraceFile out;
  try {
    out.name = path.filename().string();
    out.scenario = file.read_text("/scenario");
    out.iteration_time_s = file.read_number("/summary", "iteration_time_s");
    if (file.has_attribute("/summary", "energy_j")) out.energy_j = file.read_number("/summary", "energy_j");
    out.rank = file.read_column<std::uint32_t>("/tasks/rank");
    out.stream = file.read_column<std::uint8_t>("/tasks/stream");
    out.kind = file.read_column<std::uint8_t>("/tasks/kind");
    out.task_name = file.read_column<std::uint32_t>("/tasks/name");
    out.stage = file.read_column<std::int32_t>("/tasks/stage");
    out.chunk = file.read_column<std::int32_t>("/tasks/chunk");
    out.microbatch = file.read_column<std::int32_t>("/tasks/microbatch");
    out.start_s = file.read_column<double>("/tasks/start_s");
    out.end_s = file.read_column<double>("/tasks/end_s");
    out.bytes = file.read_column<double>("/tasks/bytes");
    out.stream_names = file.read_texts("/names/stream");
    out.kind_names = file.read_texts("/names/kind");
    out.task_names = file.read_texts("/names/task");
    out.measured = file.has("/dependencies");
    if (out.measured) {
      out.range = read_range(file);
      out.dependency_begin = file.read_column<std::int64_t>("/dependencies/begin");
      out.dependencies = file.read_column<std::uint32_t>("/dependencies/task");
    }
  } catch (const Error& error) {
    refuse(path, error.message());
  }
  check_columns(path, out);
  return out;
}

}  // namespace mirfak
