#include "report/frontier_subject.hpp"

#include "capture/captured_clocks.hpp"
#include "energy/job_stragglers.hpp"
#include "energy/scenario_clocks.hpp"
#include "network/node_topology.hpp"
#include "scenario/idle_keys.hpp"

#include <fmt/format.h>

#include <iterator>
#include <utility>

namespace mirfak {

std::string counted_text(std::int64_t count, const std::string& noun) {
  const char* plural = noun.ends_with("ch") ? "es" : "s";
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : plural);
}

ClockedSubject clocked_subject(const Scenario& scenario, const ScenarioSources& sources,
                               std::span<const double> stragglers) {
  ClockedSubject out;
  out.title = fmt::format("{}: {}, {}", scenario.name, counted_text(scenario.job.strategy.ranks(), "GPU"),
                          counted_text(scenario.job.strategy.pipeline, "stage"));
  JobStragglers perturbed = job_stragglers(scenario.job);
  out.clocked = clocked_program(perturbed.even);
  out.notes = notes_on_choices(out.clocked);
  for (std::string& note : topology_notes(scenario.job.cluster)) out.notes.push_back(std::move(note));
  out.stragglers.assign(stragglers.begin(), stragglers.end());
  if (stragglers.empty()) {
    out.stragglers = perturbed.slowdowns;
    out.notes.insert(out.notes.end(), perturbed.notes.begin(), perturbed.notes.end());
  } else if (!perturbed.slowdowns.empty()) {
    out.notes.emplace_back("the stragglers given take the place of cluster.perturbations");
  }
  const std::vector<std::string> idle = notes_on_keys(scenario, sources, simulate(scenario.job).result);
  out.notes.insert(out.notes.end(), idle.begin(), idle.end());
  const std::vector<std::string> unchecked = notes_unchecked(scenario.assertions);
  out.notes.insert(out.notes.end(), unchecked.begin(), unchecked.end());
  return out;
}

ClockedSubject clocked_subject(const CapturedScenario& scenario, const CaptureSources& sources,
                               std::span<const double> stragglers) {
  CapturedClocks found = captured_clocks(scenario, sources);
  const CaptureResult& result = found.simulated.result;
  ClockedSubject out;
  out.title = fmt::format("{}: {}, {}", scenario.capture->program, counted_text(result.gpus, "GPU"),
                          counted_text(static_cast<std::int64_t>(result.ranks.size()), "captured rank"));
  out.clocked = std::move(found.clocked);
  out.stragglers.assign(stragglers.begin(), stragglers.end());
  out.notes = notes_on_choices(out.clocked);
  out.notes.insert(out.notes.end(), result.notes.begin(), result.notes.end());
  for (std::vector<std::string> more :
       {notes_on_keys(scenario, sources, result), notes_unchecked(scenario.assertions)}) {
    std::move(more.begin(), more.end(), std::back_inserter(out.notes));
  }
  return out;
}

ClockedSubject clocked_subject(const Document& document, const ScenarioSources& sources,
                               std::span<const double> stragglers) {
  if (!names_capture(document)) return clocked_subject(parse_scenario(document, sources), sources, stragglers);
  const CaptureSources captures(sources);
  return clocked_subject(read_captured_scenario(document, captures), captures, stragglers);
}

}  // namespace mirfak
