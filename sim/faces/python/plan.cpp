#include "alpa/planner.hpp"
#include "base/error.hpp"
#include "base/staged_file.hpp"
#include "page/page_data.hpp"
#include "python/functions.hpp"
#include "python/inputs.hpp"
#include "python/json.hpp"
#include "python/launch.hpp"
#include "python/waiting.hpp"
#include "report/plan_report.hpp"
#include "scenario/idle_keys.hpp"
#include "scenario/planned_search.hpp"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;

namespace mirfak::python {

namespace {

// The plans of Alpa's planner for a scenario, with all data that their reports use.
struct FoundPlans {
  SearchScenario scenario;
  std::shared_ptr<const ScenarioSources> sources;
  alpa::Levels levels;
  alpa::PlannerOutcome outcome = {};
  std::optional<SearchOutcome> searched = {};
  std::vector<std::string> notes = {};
  double wall_time_s = 0;
  ReadFiles::ListPointer read = ReadFiles::of_this_thread();

  PlanReport report() const { return {scenario, outcome, levels, searched, notes}; }
  const Job& job(std::size_t place) const { return outcome.plans.at(place).simulated.found.job; }
};

struct Planning {
  std::string levels;
  int threads = 0;
  double time_limit_s = 0;
};

void note_plan(FoundPlans& found) {
  found.notes = notes_on_keys(found.scenario, found.job(0), *found.sources);
  const IterationResult& best = found.outcome.plans.front().simulated.iteration;
  const AssertionResult asserted = check_assertions(found.scenario.assertions, found.job(0), best);
  for (std::string& note : notes_on_assertions(asserted)) found.notes.push_back(std::move(note));
}

std::unique_ptr<FoundPlans> found_plans(const Input& input, const Planning& how, Reporter& reporter) {
  const Stopwatch watch;
  std::shared_ptr<const ScenarioSources> sources = sources_of(input.data);
  SearchScenario scenario = parse_search(input.document(), sources->folders);
  check_planned(scenario);
  const auto levels = static_cast<alpa::Levels>(choice_of("levels", how.levels, {"both", "intra-only", "inter-only"}));
  auto out = std::make_unique<FoundPlans>(FoundPlans{std::move(scenario), std::move(sources), levels});
  const auto show = [&](std::int64_t done, std::int64_t total) {
    reporter.report(static_cast<std::uint64_t>(done), static_cast<std::uint64_t>(total));
  };
  const auto stop = [&] {
    return reporter.given_up() || (how.time_limit_s > 0 && watch.seconds() >= how.time_limit_s);
  };
  const Job& job = out->scenario.job;
  const SearchSpec& spec = out->scenario.search.spec;
  out->outcome = alpa::plan(job, spec, {levels, how.threads, spec.top}, show, stop);
  if (out->outcome.plans.empty()) {
    const SearchFailure failure = plan_failure(out->report());
    fail_infeasible({out->scenario.name, 0, 0}, failure.reason, failure.hint);
  }
  out->searched = best_in_time(job, spec, how.threads, stop);
  note_plan(*out);
  out->wall_time_s = watch.seconds();
  return out;
}

void write_plans_page(const FoundPlans& self, const std::filesystem::path& path) {
  write_text_file(path, strategies_page(plan_page_data(self.report(), self.wall_time_s), self.scenario,
                                        outcome_of(self.outcome).strategies, *self.sources));
}

void add_found_plans(nb::module_& module) {
  nb::class_<FoundPlans>(module, "FoundPlans", "Result of mirfak.plan_alpa().")
      .def("__len__", [](const FoundPlans& self) { return self.outcome.plans.size(); })
      .def(
          "to_dict", [](const FoundPlans& self) { return to_python(plan_json(self.report(), self.wall_time_s)); },
          nb::sig("def to_dict(self) -> dict[str, typing.Any]"),
          "The keys of `mirfak search --planner alpa --format json`.")
      .def(
          "summary", [](const FoundPlans& self) { return plan_text(self.report()); },
          "Text that `mirfak search --planner alpa` prints.")
      .def_prop_ro(
          "resolved", [](const FoundPlans& self) { return self.scenario.resolved; },
          "The scenario as YAML, with every limit of the search written out.")
      .def(
          "scenario",
          [](const FoundPlans& self, std::size_t place) { return found_scenario(self.scenario, self.job(place)); },
          "place"_a = 0, "A plan as a scenario (YAML) to simulate; place: from 0, the best.")
      .def(
          "emit",
          [](const FoundPlans& self, const std::string& target, std::size_t place, const std::string& launcher) {
            return launch_text_of(self.job(place), target, launcher, *self.sources);
          },
          "target"_a, "place"_a = 0, "launcher"_a = "", "The arguments or files with which a program runs a plan.")
      .def(
          "write_report",
          [](const FoundPlans& self, const std::filesystem::path& path) {
            write_beside(self.read, [&] { write_plans_page(self, path); });
          },
          "path"_a, nb::sig("def write_report(self, path: str | os.PathLike[str]) -> None"),
          "Writes a page (HTML) with the plans and the reasons of their figures.");
}

}  // namespace

void add_plan(nb::module_& module) {
  add_found_plans(module);
  module.def(
      "plan_alpa",
      [](const Input& input, const std::string& levels, int threads, double time_limit_s, const nb::object& progress) {
        const Planning how{levels, threads, time_limit_s};
        return wait_for(progress, [&](Reporter& reporter) { return found_plans(input, how, reporter); });
      },
      "input"_a, "levels"_a, "threads"_a, "time_limit_s"_a, "progress"_a.none(),
      "Plans as Alpa does: see mirfak.plan_alpa().");
}

}  // namespace mirfak::python
