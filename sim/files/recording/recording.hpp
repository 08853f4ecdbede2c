#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace mirfak {

// Times of recordings are whole nanoseconds on the profiler's clock: as they are written, without rounding.
using Nanoseconds = std::int64_t;
inline constexpr double kSecondsPerNanosecond = 1e-9;
inline double seconds(Nanoseconds time) { return static_cast<double>(time) * kSecondsPerNanosecond; }

// A profiler's data on the collective that a kernel carries out. Data that the profiler does not record is absent or
// empty.
struct RecordedCollective {
  std::string collective;  // "allreduce", as the profiler calls it
  std::string type;        // type of its elements, "BFloat16"
  std::string group;       // the process group's name
  std::optional<std::int64_t> group_size;
  std::optional<std::int64_t> in_elements;
  std::optional<std::int64_t> out_elements;
  std::optional<std::int64_t> in_bytes;  // absent also if the size of the type is not known
  std::optional<std::int64_t> out_bytes;

  auto operator<=>(const RecordedCollective&) const = default;
};

// An operator of the host that launches kernels, with the shapes of its inputs where they were recorded.
struct RecordedOperator {
  std::string name;   // "aten::mm"
  std::string shape;  // "[[4096,1024],[1024,512]]"; "" if none was recorded
  std::string types;  // types of its inputs, as text

  auto operator<=>(const RecordedOperator&) const = default;
};

// One kernel or copy on a GPU.
struct RecordedKernel {
  std::uint32_t name = 0;  // index in Recording::names
  std::uint32_t cls = 0;   // index in Recording::classes
  std::int32_t device = 0;
  std::int64_t stream = 0;
  std::int32_t step = -1;        // index in Recording::steps: the step of its launch, or else of its begin; -1: none
  std::int32_t operator_ = -1;   // index in Recording::operators: the innermost operator of its launch; -1: not known
  std::int32_t collective = -1;  // index in Recording::collectives; -1: no collective, or no data on it
  bool backward = false;         // launched by the automatic differentiation's own operators
  Nanoseconds start = 0;
  Nanoseconds end = 0;
  std::optional<Nanoseconds> launch;      // time at which the host began to launch it
  std::optional<Nanoseconds> launch_end;  // time at which the launching call returned

  Nanoseconds duration() const { return end - start; }
};

// An iteration as the profiler marks it ("ProfilerStep#4"), on the host.
struct RecordedStep {
  std::string name;
  Nanoseconds start = 0;
  Nanoseconds end = 0;
};

struct RecordedClass {
  std::string name;
  bool communication = false;
  bool copies = false;
};

// The work of one rank, from the files of a profiler. Kernels are sorted by their start, and so are steps.
struct Recording {
  std::string file;
  std::string gpu;  // "" if it is not recorded
  std::optional<std::int64_t> rank;
  std::optional<std::int64_t> world_size;
  std::string nccl_version;
  std::uint64_t events = 0;
  std::vector<std::string> names;
  std::vector<RecordedClass> classes;
  std::vector<RecordedOperator> operators;
  std::vector<RecordedCollective> collectives;
  std::vector<RecordedKernel> kernels;
  std::vector<RecordedStep> steps;
  std::map<std::string, std::uint64_t> unread;  // number of events without data for the members above, by category
  std::vector<std::string> notes;               // facts for the user on the reading itself

  const RecordedClass& class_of(const RecordedKernel& kernel) const { return classes[kernel.cls]; }
  bool communicates(const RecordedKernel& kernel) const { return class_of(kernel).communication; }
};

}  // namespace mirfak
