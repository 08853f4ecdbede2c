#include "energy/frontier.hpp"
#include "base/error.hpp"
#include "base/staged_file.hpp"
#include "page/page_data.hpp"
#include "python/functions.hpp"
#include "python/inputs.hpp"
#include "python/json.hpp"
#include "python/waiting.hpp"
#include "report/frontier_report.hpp"
#include "report/frontier_subject.hpp"
#include "strategy/strategy.hpp"

#include <fmt/format.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>
#include <nlohmann/json.hpp>

#include <memory>
#include <utility>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;

namespace mirfak::python {

namespace {

// A frontier with all data that its reports use.
struct FoundFrontier {
  ClockedSubject subject;
  Frontier frontier;
  std::vector<FrontierStep> steps;
  double wall_time_s = 0;
  ReadFiles::ListPointer read = ReadFiles::of_this_thread();

  FrontierReport report() const { return {subject.title, subject.clocked, frontier, subject.notes, steps}; }
};

std::unique_ptr<FoundFrontier> found_frontier(const Input& input, const std::vector<double>& stragglers,
                                              const FrontierUnits& units) {
  const Stopwatch watch;
  const std::shared_ptr<const ScenarioSources> sources = sources_of(input.data);
  auto out = std::make_unique<FoundFrontier>();
  DocumentSubject found = clocked_subject(input.document(), *sources, stragglers, units);
  out->subject = std::move(found.subject);
  out->frontier = frontier(out->subject.clocked, out->subject.stragglers);
  if (found.scenario) out->steps = frontier_steps(*found.scenario, units, out->frontier);
  out->wall_time_s = watch.seconds();
  return out;
}

}  // namespace

void add_frontier(nb::module_& module) {
  nb::class_<FoundFrontier>(module, "FoundFrontier", "Result of mirfak.frontier().")
      .def(
          "to_dict",
          [](const FoundFrontier& self) { return to_python(frontier_json(self.report(), self.wall_time_s)); },
          nb::sig("def to_dict(self) -> dict[str, typing.Any]"), "The keys of `mirfak frontier --format json`.")
      .def(
          "clock_plan", [](const FoundFrontier& self) { return to_python(clock_plan_json(self.report())); },
          nb::sig("def clock_plan(self) -> dict[str, typing.Any]"),
          "By straggler, stage and pass, the clock to set in MHz: the keys of `mirfak frontier --plan`.")
      .def(
          "summary", [](const FoundFrontier& self) { return frontier_text(self.report()); },
          "Text that `mirfak frontier` prints.")
      .def(
          "write_report",
          [](const FoundFrontier& self, const std::filesystem::path& path) {
            write_beside(self.read,
                         [&] { write_text_file(path, page_of(frontier_page_data(self.report(), self.wall_time_s))); });
          },
          "path"_a, nb::sig("def write_report(self, path: str | os.PathLike[str]) -> None"),
          "Writes a page (HTML) with the frontier and the clocks.");
  module.def(
      "frontier",
      [](const Input& input, const std::vector<double>& stragglers, std::size_t unit, bool joint, double change_s,
         const std::vector<int>& communication_sms) {
        FrontierUnits units = FrontierUnits::of(unit, joint);
        units.change_s = change_s;
        units.communication_sms = communication_sms;
        for (const int multiprocessors : communication_sms) {
          if (multiprocessors >= 1 && multiprocessors <= strategy_limits::kChannels) continue;
          fail_input({}, fmt::format("communication_sms: expected a number from 1 to {}, found {}",
                                     strategy_limits::kChannels, multiprocessors));
        }
        if (joint && communication_sms.empty()) units.communication_sms = FrontierUnits::usual_communication_sms();
        return wait_for(nb::none(), [&](Reporter& /*unused*/) { return found_frontier(input, stragglers, units); });
      },
      "input"_a, "stragglers"_a, "unit"_a, "joint"_a, "change_s"_a, "communication_sms"_a,
      "Plans clocks: see mirfak.frontier().");
}

}  // namespace mirfak::python
