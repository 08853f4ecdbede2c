#include "base/error.hpp"
#include "base/origin.hpp"
#include "base/staged_file.hpp"
#include "chakra/chakra_export.hpp"
#include "page/page_data.hpp"
#include "python/findings.hpp"
#include "python/iteration.hpp"
#include "python/json.hpp"
#include "python/launch.hpp"
#include "python/timeline.hpp"
#include "python/waiting.hpp"
#include "report/sensitivity_report.hpp"
#include "trace/memory_snapshot.hpp"
#include "trace/power_report.hpp"
#include "trace/timeline_json.hpp"
#include "trace/trace_hdf5.hpp"

#include <fmt/format.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;

namespace mirfak::python {

namespace {

constexpr double kUsualPowerResolution_s = kIterationResolutions.usual_s;

PowerFile power_of(const Iteration& self, double resolution_s) {
  check_power_resolution(resolution_s, kIterationResolutions);
  return power_file_of(power_report(*self.simulation(), resolution_s), self.scenario().resolved);
}

void add_own_files(IterationClass& type) {
  type.def_prop_ro(
          "timeline",
          [](const Iteration& self) {
            return wait_for(nb::none(), [&](Reporter& /*unused*/) { return Execution(self.simulation()); });
          },
          "When each task began and ended. Simulated again when it is first asked for, to the same bits: results do "
          "not keep their programs.")
      .def(
          "write_trace",
          [](const Iteration& self, const std::filesystem::path& path) {
            write_beside(self.read(), [&] { write_trace(path, self.scenario(), *self.simulation()); });
          },
          "path"_a, nb::sig("def write_trace(self, path: str | os.PathLike[str]) -> None"),
          "Writes all tasks, memory and power as HDF5 (sim/files/trace/README.md has the format).")
      .def(
          "write_timeline",
          [](const Iteration& self, const std::filesystem::path& path) {
            write_beside(self.read(), [&] { write_timeline_json(path, *self.simulation()); });
          },
          "path"_a, nb::sig("def write_timeline(self, path: str | os.PathLike[str]) -> None"),
          "Writes a timeline for Perfetto or chrome://tracing.")
      .def(
          "power",
          [](const Iteration& self, double resolution_s) {
            return to_python(power_file_json(power_of(self, resolution_s)));
          },
          "resolution_s"_a = kUsualPowerResolution_s,
          nb::sig("def power(self, resolution_s: float = 0.01) -> dict[str, typing.Any]"),
          "Watts over time, as means over intervals of 0.001 to 1 s: the keys of `mirfak simulate --power FILE.json`.")
      .def(
          "write_power",
          [](const Iteration& self, const std::filesystem::path& path, double resolution_s) {
            write_beside(self.read(), [&] { write_power(path, power_of(self, resolution_s)); });
          },
          "path"_a, "resolution_s"_a = kUsualPowerResolution_s,
          nb::sig("def write_power(self, path: str | os.PathLike[str], resolution_s: float = 0.01) -> None"),
          "Writes watts over time: FILE.csv, FILE.json or FILE.h5 (sim/files/trace/README.md has the formats).");
}

void write_page(const Iteration& self, const std::filesystem::path& path) {
  nlohmann::ordered_json data =
      simulation_page_data(self.scenario(), *self.simulation(), self.notes(), self.wall_time_s());
  data["result"] = self.whole_json();
  write_text_file(path, page_of(data));
}

void write_chakra_of(const Iteration& self, const std::filesystem::path& prefix, const std::vector<int>& ranks) {
  const std::set<int> each(ranks.begin(), ranks.end());
  const ChakraHeaderTexts texts = {{"program", origin_text()}, {"scenario", self.scenario().resolved}};
  write_chakra(prefix, *self.simulation(), {each.begin(), each.end()}, texts);
}

void add_files_for_others(IterationClass& type) {
  type.def(
          "write_report",
          [](const Iteration& self, const std::filesystem::path& path) {
            write_beside(self.read(), [&] { write_page(self, path); });
          },
          "path"_a, nb::sig("def write_report(self, path: str | os.PathLike[str]) -> None"),
          "Writes a page (HTML) with views and the reasons of all figures.")
      .def(
          "write_memory_snapshot",
          [](const Iteration& self, const std::filesystem::path& path) {
            write_beside(self.read(), [&] { write_memory_snapshot(path, *self.simulation()); });
          },
          "path"_a, nb::sig("def write_memory_snapshot(self, path: str | os.PathLike[str]) -> None"),
          "Writes the predicted memory for PyTorch's memory viewer.")
      .def(
          "write_chakra",
          [](const Iteration& self, const std::filesystem::path& prefix, const std::vector<int>& ranks) {
            write_beside(self.read(), [&] { write_chakra_of(self, prefix, ranks); });
          },
          "prefix"_a, "ranks"_a = std::vector<int>(),
          nb::sig("def write_chakra(self, prefix: str | os.PathLike[str], ranks: "
                  "collections.abc.Sequence[int] = ()) -> None"),
          "Writes Chakra execution traces PREFIX.<rank>.et of these ranks; without ranks, of all.")
      .def(
          "emit",
          [](const Iteration& self, const std::string& target, const std::string& launcher) {
            return launch_text_of(self.scenario().job, target, launcher, self.sources());
          },
          "target"_a, "launcher"_a = "",
          "The arguments or files with which a program runs the job, in one text. target: as `mirfak simulate --emit`. "
          "launcher: 'slurm' or 'torchrun', for a script that starts it on all nodes. Raises InfeasibleError at the "
          "first key that the program cannot express.");
}

Findings gains_of(const Iteration& self, double factor) {
  if (!(factor >= 0.1 && factor <= 10)) {
    fail_input({}, fmt::format("factor: expected a number from 0.1 to 10, found {:g}", factor));
  }
  const Sensitivity gains = self.gains(factor);
  return {sensitivity_json(gains), sensitivity_text(gains)};
}

void add_sensitivity(IterationClass& type) {
  type.def(
      "sensitivity",
      [](const Iteration& self, double factor) {
        Findings found = wait_for(nb::none(), [&](Reporter& /*unused*/) { return gains_of(self, factor); });
        return nb::module_::import_("mirfak._comparisons").attr("SensitivityResult")(std::move(found));
      },
      "factor"_a = 1.1, nb::sig("def sensitivity(self, factor: float = 1.1) -> mirfak._comparisons.SensitivityResult"),
      "Gain from so many times as much of each resource: FLOP/s, memory bandwidth, each level of the network, "
      "the "
      "host. Simulated anew for each; factor: from 0.1 to 10.");
}

}  // namespace

void add_iteration_files(IterationClass& type) {
  add_own_files(type);
  add_files_for_others(type);
  add_sensitivity(type);
}

}  // namespace mirfak::python
