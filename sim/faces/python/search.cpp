#include "base/error.hpp"
#include "base/staged_file.hpp"
#include "launch/launch_arguments.hpp"
#include "launch/runnable_search.hpp"
#include "page/page_data.hpp"
#include "plan/search_outcome.hpp"
#include "python/functions.hpp"
#include "python/inputs.hpp"
#include "python/json.hpp"
#include "python/launch.hpp"
#include "python/waiting.hpp"
#include "report/search_report.hpp"
#include "scenario/idle_keys.hpp"
#include "scenario/search_scenario.hpp"

#include <nanobind/stl/filesystem.h>
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

// The findings of a search, with all data that its reports use.
struct FoundStrategies {
  SearchScenario scenario;
  SearchOutcome outcome;
  std::vector<std::string> notes;
  double wall_time_s = 0;
  std::shared_ptr<const ScenarioSources> sources;
  ReadFiles::ListPointer read = ReadFiles::of_this_thread();

  SearchReport report() const { return {scenario, outcome, notes}; }
  const Job& job(std::size_t place) const { return outcome.strategies.at(place).found.job; }
};

std::unique_ptr<FoundStrategies> found_strategies(const Input& input, int threads, double time_limit_s,
                                                  Reporter& reporter) {
  const Stopwatch watch;
  const std::shared_ptr<const ScenarioSources> sources = sources_of(input.data);
  auto out = std::make_unique<FoundStrategies>(
      FoundStrategies{parse_search(input.document(), sources->folders), {}, {}, 0, sources});
  keep_to_framework(out->scenario, sources->folders.hardware);
  const auto show = [&](std::int64_t done, std::int64_t total) {
    reporter.report(static_cast<std::uint64_t>(done), static_cast<std::uint64_t>(total));
  };
  const auto stop = [&] { return reporter.given_up() || (time_limit_s > 0 && watch.seconds() >= time_limit_s); };
  out->outcome = search_and_simulate(out->scenario, threads, show, stop);
  if (out->outcome.strategies.empty()) {
    const SearchFailure failure = search_failure(out->report());
    fail_infeasible({out->scenario.name, 0, 0}, failure.reason, failure.hint);
  }
  out->notes = notes_on_keys(out->scenario, out->job(0), *sources);
  const AssertionResult asserted =
      check_assertions(out->scenario.assertions, out->job(0), out->outcome.strategies.front().iteration);
  for (std::string& note : notes_on_assertions(asserted)) out->notes.push_back(std::move(note));
  out->wall_time_s = watch.seconds();
  return out;
}

void write_search_page(const FoundStrategies& self, const std::filesystem::path& path) {
  write_text_file(path, strategies_page(search_page_data(self.report(), self.wall_time_s), self.scenario,
                                        self.outcome.strategies, *self.sources));
}

void add_found(nb::module_& module) {
  nb::class_<FoundStrategies>(module, "FoundStrategies", "Result of mirfak.search().")
      .def("__len__", [](const FoundStrategies& self) { return self.outcome.strategies.size(); })
      .def(
          "to_dict",
          [](const FoundStrategies& self) { return to_python(search_json(self.report(), self.wall_time_s)); },
          nb::sig("def to_dict(self) -> dict[str, typing.Any]"), "The keys of `mirfak search --format json`.")
      .def(
          "summary", [](const FoundStrategies& self) { return search_text(self.report()); },
          "Text that `mirfak search` prints.")
      .def_prop_ro(
          "resolved", [](const FoundStrategies& self) { return self.scenario.resolved; },
          "The scenario as YAML, with every limit of the search written out.")
      .def(
          "scenario",
          [](const FoundStrategies& self, std::size_t place) { return found_scenario(self.scenario, self.job(place)); },
          "place"_a = 0, "A strategy as a scenario (YAML) to simulate; place: from 0, the best.")
      .def(
          "emit",
          [](const FoundStrategies& self, const std::string& target, std::size_t place, const std::string& launcher) {
            return launch_text_of(self.job(place), target, launcher, *self.sources);
          },
          "target"_a, "place"_a = 0, "launcher"_a = "", "The arguments or files with which a program runs a strategy.")
      .def(
          "write_report",
          [](const FoundStrategies& self, const std::filesystem::path& path) {
            write_beside(self.read, [&] { write_search_page(self, path); });
          },
          "path"_a, nb::sig("def write_report(self, path: str | os.PathLike[str]) -> None"),
          "Writes a page (HTML) with all strategies, a plot, and the reasons of their figures.");
}

}  // namespace

void add_search(nb::module_& module) {
  add_found(module);
  module.def(
      "search",
      [](const Input& input, int threads, double time_limit_s, const nb::object& progress) {
        return wait_for(progress,
                        [&](Reporter& reporter) { return found_strategies(input, threads, time_limit_s, reporter); });
      },
      "input"_a, "threads"_a, "time_limit_s"_a, "progress"_a.none(), "Finds the best strategies: see mirfak.search().");
  module.def("launch_targets", &launch_target_names, "The programs that emit() knows.");
}

}  // namespace mirfak::python
