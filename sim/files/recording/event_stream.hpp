#pragma once

#include "base/error.hpp"
#include "recording/recording.hpp"

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace mirfak {

// A complete event ("ph": "X") of a Chrome trace as Kineto writes it. Absent texts are empty.
struct TraceEvent {
  std::string category;  // as written
  std::string name;
  std::string process;
  std::string thread;
  Nanoseconds start = 0;
  Nanoseconds duration = 0;
  Location where;  // place of the event's end, for messages

  // Values of the event's `args`.
  std::optional<std::int64_t> correlation;
  std::optional<std::int64_t> stream;
  std::optional<std::int64_t> device;
  std::string input_dims;  // arrays as compact JSON
  std::string input_types;
  std::string collective;
  std::string collective_type;
  std::string group;
  std::optional<std::int64_t> group_size;
  std::optional<std::int64_t> in_elements;
  std::optional<std::int64_t> out_elements;
};

// The facts that a trace holds in addition to its events.
struct TraceHeader {
  std::string gpu;  // name of the first GPU
  std::optional<std::int64_t> rank;
  std::optional<std::int64_t> world_size;
  std::string nccl_version;
  std::uint64_t events = 0;  // number of events of all phases
};

// Reads the JSON of a trace, plain or compressed by gzip, event by event, so that memory does not grow with its size.
// Calls `use` for each complete event. Error(input) with file:line:column (of the uncompressed text) for a file that
// cannot be read or is cut off, bad JSON, text that is not UTF-8, an event without a name, or with a time that is not a
// number; for nesting deeper than 64, more than 32 GiB of text, or texts of more than 1 MiB.
TraceHeader read_trace_events(const std::filesystem::path& path, const std::function<void(const TraceEvent&)>& use);
TraceHeader read_trace_events_of_text(std::string_view text, const std::string& name,
                                      const std::function<void(const TraceEvent&)>& use);

}  // namespace mirfak
