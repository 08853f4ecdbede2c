#include "capture/capture_simulation.hpp"
#include "capture/captured_power.hpp"

#include "base/units.hpp"
#include "capture/capture_figures.hpp"
#include "capture/captured_ranks.hpp"
#include "scenario/stated_notes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

namespace mirfak {

namespace {

// True if ranks that did the same may take unlike times.
bool ranks_differ(const CapturedScenario& scenario) {
  const Cluster& cluster = scenario.cluster;
  const auto last = static_cast<int>(std::min<std::int64_t>(scenario.capture->world_size, cluster.gpus())) - 1;
  return !cluster.perturbations().empty() || cluster.place_of(last).group > 0;
}

bool same_figures(const std::vector<FigureValue>& a, const std::vector<FigureValue>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const FigureValue& x, const FigureValue& y) {
    return x.known == y.known && (x.number == y.number || x.key() == "events");
  });
}

// Names the part of the mean time of a GPU that is longer by most in `longer`.
std::string part_that_grew(const CaptureResult& shorter, const CaptureResult& longer) {
  const auto growth = [&](const CapturedTimePart& part) {
    return longer.mean.*part.seconds - shorter.mean.*part.seconds;
  };
  const auto parts = captured_time_parts();
  const auto most =
      std::max_element(parts.begin(), parts.end(), [&](const auto& a, const auto& b) { return growth(a) < growth(b); });
  return fmt::format("{} takes a GPU {} longer on average", most->label, format_seconds(growth(*most)));
}

}  // namespace

CapturePricing pricing_of(const CapturedScenario& scenario, const CaptureSources& sources) {
  return {scenario.cluster, sources.table(), sources.framework(), &sources.scenario().ranges};
}

CaptureSimulation simulate(const CapturedScenario& scenario, const CaptureSources& sources) {
  CaptureSimulation out;
  out.capture = scenario.capture;
  if (ranks_differ(scenario)) out.capture = std::make_shared<const Capture>(with_events_of_each(*scenario.capture));
  const CapturePricing pricing = pricing_of(scenario, sources);
  out.executed = captured_program(*out.capture, pricing);
  out.result = capture_result(*out.capture, pricing, out.executed);
  out.result.power = power_figures(scenario, out);
  return out;
}

Sensitivity sensitivity(const CapturedScenario& scenario, const CaptureSources& sources, const CaptureResult& result,
                        double factor) {
  return sensitivity_on(scenario.cluster, result.iteration_s, factor, [&](const Cluster& cluster) {
    CapturedScenario more = scenario;
    more.cluster = cluster;
    const auto found = std::make_shared<const CaptureResult>(simulate(more, sources).result);
    return IterationOnMore{found->iteration_s, [&result, found, factor] {
                             return factor > 1 ? part_that_grew(result, *found) : part_that_grew(*found, result);
                           }};
  });
}

std::vector<IdleKey> idle_keys(const CapturedScenario& scenario, const CaptureSources& sources,
                               const CaptureResult& result) {
  const std::vector<FigureValue> figures = figure_values(result, scenario.cluster.facility());
  return idle_keys(scenario.document, sources.scenario().folders,
                   [&](const Document& without, const std::string& /*key*/) {
                     const CapturedScenario other = read_captured_scenario(without, sources);
                     if (other.resolved == scenario.resolved) return true;  // states its default
                     const CaptureResult of_other = simulate(other, sources).result;
                     return of_other.notes != result.notes ||
                            !same_figures(figures, figure_values(of_other, other.cluster.facility()));
                   });
}

std::vector<std::string> notes_on_keys(const CapturedScenario& scenario, const CaptureSources& sources,
                                       const CaptureResult& result) {
  std::vector<std::string> out = stated_notes(scenario.document);
  for (const IdleKey& idle : idle_keys(scenario, sources, result)) out.push_back(note_on(idle));
  if (scenario.cluster.perturbations().is_drawn()) {
    out.emplace_back("cluster.perturbations: its distributions are left out: --samples draws them");
  }
  return out;
}

AssertionResult check_assertions(const CapturedScenario& scenario, const CaptureResult& result) {
  return check_assertions(scenario.assertions, figure_values(result, scenario.cluster.facility()));
}

}  // namespace mirfak
