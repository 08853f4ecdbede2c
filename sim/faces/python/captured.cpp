#include "python/captured.hpp"

#include "base/staged_file.hpp"
#include "capture/capture_file.hpp"
#include "capture/capture_report.hpp"
#include "capture/captured_power.hpp"
#include "capture/captured_trace.hpp"
#include "import/chosen_nodes.hpp"
#include "page/page_data.hpp"
#include "python/functions.hpp"
#include "python/inputs.hpp"
#include "python/json.hpp"
#include "python/waiting.hpp"
#include "report/spread_report.hpp"
#include "trace/timeline_json.hpp"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;

namespace mirfak::python {

SimulatedCapture::SimulatedCapture(const Document& document, const ScenarioSources& sources,
                                   const std::optional<SpreadOptions>& sampling)
    : sources_(sources), scenario_(read_captured_scenario(document, sources_)) {
  const Stopwatch watch;
  simulation_ = simulate(scenario_, sources_);
  wall_time_s_ = watch.seconds();
  std::vector<std::string>& notes = simulation_.result.notes;
  if (sampling) spread_ = sample_steps(scenario_, sources_, *sampling);
  for (std::string& note : notes_on_keys(scenario_, sources_, simulation_.result)) {
    const bool of_draws = spread_ && note.find("cluster.perturbations") != std::string::npos;
    if (!of_draws) notes.push_back(std::move(note));
  }
  for (std::string& note : notes_on_assertions(check_assertions(scenario_, simulation_.result))) {
    notes.push_back(std::move(note));
  }
}

nlohmann::ordered_json SimulatedCapture::json() const {
  nlohmann::ordered_json out = capture_json(*simulation_.capture, pricing(), simulation_.result, wall_time_s_);
  if (spread_) out["spread"] = spread_json(*spread_);
  return out;
}

std::string SimulatedCapture::text(bool explain) const {
  return capture_text(*simulation_.capture, pricing(), simulation_.result, explain);
}

void SimulatedCapture::write_timeline(const std::filesystem::path& path) const {
  write_timeline_json(path, simulation_.executed.joined.program, simulation_.executed.timeline);
}

void SimulatedCapture::write_trace(const std::filesystem::path& path) const {
  mirfak::write_trace(path, scenario_, simulation_);
}

PowerFile SimulatedCapture::power(double resolution_s) const {
  check_power_resolution(resolution_s, kIterationResolutions);
  return power_file_of(power_report(scenario_, simulation_, resolution_s), scenario_.resolved);
}

void SimulatedCapture::write_report(const std::filesystem::path& path) const {
  write_text_file(path, page_of(capture_page_data(scenario_, pricing(), simulation_, json(), text(false))));
}

void add_capture(nb::module_& module) {
  nb::class_<SimulatedCapture>(module, "SimulatedCapture", "Result of mirfak.simulate() for a capture.")
      .def(
          "to_dict", [](const SimulatedCapture& self) { return to_python(self.json()); },
          nb::sig("def to_dict(self) -> dict[str, typing.Any]"), "The keys of `mirfak simulate --format json`.")
      .def(
          "summary", [](const SimulatedCapture& self) { return self.text(false); },
          "Text that `mirfak simulate` prints.")
      .def(
          "explain", [](const SimulatedCapture& self) { return self.text(true); },
          "Text that `mirfak simulate --explain` prints: more rows, and the sources of the prices.")
      .def_prop_ro(
          "resolved", [](const SimulatedCapture& self) { return self.scenario().resolved; },
          "The scenario as YAML with every default written out and overrides applied.")
      .def_prop_ro(
          "defaulted", [](const SimulatedCapture& self) { return self.scenario().defaulted; },
          "The keys of `resolved` that the scenario leaves out.")
      .def(
          "write_timeline",
          [](const SimulatedCapture& self, const std::filesystem::path& path) {
            write_beside(self.read(), [&] { self.write_timeline(path); });
          },
          "path"_a, nb::sig("def write_timeline(self, path: str | os.PathLike[str]) -> None"),
          "Writes a timeline for Perfetto or chrome://tracing.")
      .def(
          "write_trace",
          [](const SimulatedCapture& self, const std::filesystem::path& path) {
            write_beside(self.read(), [&] { self.write_trace(path); });
          },
          "path"_a, nb::sig("def write_trace(self, path: str | os.PathLike[str]) -> None"),
          "Writes all tasks, ranks and power as HDF5.")
      .def(
          "power",
          [](const SimulatedCapture& self, double resolution_s) {
            return to_python(power_file_json(self.power(resolution_s)));
          },
          "resolution_s"_a, nb::sig("def power(self, resolution_s: float) -> dict[str, typing.Any]"),
          "Watts over time: the keys of `mirfak simulate --power FILE.json`.")
      .def(
          "write_power",
          [](const SimulatedCapture& self, const std::filesystem::path& path, double resolution_s) {
            write_beside(self.read(), [&] { write_power(path, self.power(resolution_s)); });
          },
          "path"_a, "resolution_s"_a,
          nb::sig("def write_power(self, path: str | os.PathLike[str], resolution_s: float) -> None"),
          "Writes the same as FILE.csv, FILE.json or FILE.h5.")
      .def(
          "write_report",
          [](const SimulatedCapture& self, const std::filesystem::path& path) {
            write_beside(self.read(), [&] { self.write_report(path); });
          },
          "path"_a, nb::sig("def write_report(self, path: str | os.PathLike[str]) -> None"),
          "Writes a page (HTML) with views and reasons of all figures.");
  module.def(
      "is_capture", [](const std::string& path) { return is_capture(path); }, "path"_a,
      "True if a file begins as a capture does, whatever its name.");
  module.def(
      "capture_scenario",
      [](const std::string& capture, const std::vector<std::string>& nodes) {
        return capture_scenario(capture, nodes);
      },
      "capture"_a, "nodes"_a, "The scenario of a capture on nodes TYPE:COUNT, as YAML.");
}

}  // namespace mirfak::python
