#include "chakra/chakra_replay.hpp"
#include "chakra/chakra_report.hpp"
#include "engine/execute.hpp"
#include "import/chosen_nodes.hpp"
#include "python/functions.hpp"
#include "python/inputs.hpp"
#include "python/json.hpp"
#include "python/waiting.hpp"
#include "replay/replay_report.hpp"
#include "replay/replayed_trace.hpp"
#include "trace/timeline_json.hpp"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;

namespace mirfak::python {

namespace {

struct TraceReplay {
  ReplayedTrace replayed;
  double wall_time_s = 0;
  ReadFiles::ListPointer read = ReadFiles::of_this_thread();

  nlohmann::ordered_json json() const {
    return replay_json(replayed.replay, replayed.analysis, replayed.asked, replayed.notes, wall_time_s);
  }
  void write_timeline(const std::filesystem::path& path, std::optional<int> step) const {
    const Program program = replayed.program(step_index(replayed.replay.trace(), step));
    write_timeline_json(path, program, execute(program));
  }
};

struct ReplayedChakra {
  ChakraReplay replayed;
  double wall_time_s = 0;
  ReadFiles::ListPointer read = ReadFiles::of_this_thread();
};

std::unique_ptr<TraceReplay> trace_replay(const ReplayInputs& inputs) {
  const Stopwatch watch;
  if (are_chakra_traces(std::vector{inputs.trace.string()})) {
    fail_input({inputs.trace.string(), 0, 0}, "this is a Chakra trace, by its name", "call mirfak.replay_chakra()");
  }
  auto out = std::make_unique<TraceReplay>(TraceReplay{replay_trace(inputs)});
  out->wall_time_s = watch.seconds();
  return out;
}

std::unique_ptr<ReplayedChakra> chakra_replay(const std::vector<std::string>& traces, const std::string& nodes,
                                              const std::string& data) {
  const Stopwatch watch;
  if (!traces.empty() && !are_chakra_traces(traces)) {
    fail_input({traces.front(), 0, 0}, "this is no Chakra trace, by its name",
               "give files NAME.<rank>.et, or call mirfak.replay() for a table of operations");
  }
  auto out = std::make_unique<ReplayedChakra>(
      ReplayedChakra{replay_chakra(traces, cluster_of_nodes(nodes, data_folders(data).hardware))});
  out->wall_time_s = watch.seconds();
  return out;
}

void add_tables_of_operations(nb::module_& module) {
  nb::class_<TraceReplay>(module, "TraceReplay", "Result of mirfak.replay().")
      .def(
          "to_dict", [](const TraceReplay& self) { return to_python(self.json()); },
          nb::sig("def to_dict(self) -> dict[str, typing.Any]"), "The keys of `mirfak replay --format json`.")
      .def(
          "summary",
          [](const TraceReplay& self) {
            return replay_text(self.replayed.replay, self.replayed.analysis, self.replayed.asked, self.replayed.notes);
          },
          "Text that `mirfak replay` prints.")
      .def(
          "write_timeline",
          [](const TraceReplay& self, const std::filesystem::path& path, std::optional<int> step) {
            write_beside(self.read, [&] { self.write_timeline(path, step); });
          },
          "path"_a, "step"_a.none() = nb::none(),
          nb::sig("def write_timeline(self, path: str | os.PathLike[str], step: int | None = None) -> None"),
          "Writes a replayed step, by its number in the trace, for Perfetto or chrome://tracing.");
  module.def(
      "replay",
      [](const std::filesystem::path& trace, const std::filesystem::path& dependencies,
         const std::filesystem::path& groups, const std::filesystem::path& ideal, std::vector<int> ideal_rank,
         std::vector<int> ideal_data, std::vector<int> ideal_stage, std::vector<std::string> ideal_op,
         std::vector<std::string> speed) {
        const ReplayInputs inputs{trace,
                                  dependencies,
                                  groups,
                                  ideal,
                                  {std::move(ideal_rank), std::move(ideal_data), std::move(ideal_stage),
                                   std::move(ideal_op), std::move(speed)},
                                  std::nullopt};
        return wait_for(nb::none(), [&](Reporter& /*unused*/) { return trace_replay(inputs); });
      },
      "trace"_a, "dependencies"_a, "groups"_a, "ideal"_a, "ideal_rank"_a, "ideal_data"_a, "ideal_stage"_a, "ideal_op"_a,
      "speed"_a, "Executes recorded steps again: see mirfak.replay().");
}

void add_chakra(nb::module_& module) {
  nb::class_<ReplayedChakra>(module, "ReplayedChakra", "Result of mirfak.replay_chakra().")
      .def(
          "to_dict",
          [](const ReplayedChakra& self) {
            return to_python(chakra_json(self.replayed.times, self.replayed.joined.notes, self.wall_time_s));
          },
          nb::sig("def to_dict(self) -> dict[str, typing.Any]"),
          "The keys of `mirfak replay --format json` of Chakra traces.")
      .def(
          "summary",
          [](const ReplayedChakra& self) { return chakra_text(self.replayed.times, self.replayed.joined.notes); },
          "Text that `mirfak replay` prints.")
      .def(
          "write_timeline",
          [](const ReplayedChakra& self, const std::filesystem::path& path) {
            write_beside(self.read,
                         [&] { write_timeline_json(path, self.replayed.joined.program, self.replayed.timeline); });
          },
          "path"_a, nb::sig("def write_timeline(self, path: str | os.PathLike[str]) -> None"),
          "Writes what was executed for Perfetto or chrome://tracing.");
  module.def(
      "replay_chakra",
      [](const std::vector<std::string>& traces, const std::string& nodes, const std::string& data) {
        return wait_for(nb::none(), [&](Reporter& /*unused*/) { return chakra_replay(traces, nodes, data); });
      },
      "traces"_a, "nodes"_a, "data"_a, "Executes Chakra traces: see mirfak.replay_chakra().");
}

}  // namespace

void add_replay(nb::module_& module) {
  add_tables_of_operations(module);
  add_chakra(module);
}

}  // namespace mirfak::python
