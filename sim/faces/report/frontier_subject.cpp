#include "report/frontier_subject.hpp"

#include "base/error.hpp"
#include "base/units.hpp"
#include "capture/captured_clocks.hpp"
#include "energy/job_stragglers.hpp"
#include "energy/scenario_clocks.hpp"
#include "network/node_topology.hpp"
#include "scenario/idle_keys.hpp"
#include "strategy/rules.hpp"

#include <fmt/format.h>

#include <array>
#include <iterator>
#include <utility>

namespace mirfak {

std::string counted_text(std::int64_t count, const std::string& noun) {
  const char* plural = noun.ends_with("ch") ? "es" : "s";
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : plural);
}

const std::vector<std::string>& FrontierUnits::unit_names() {
  static const std::vector<std::string> names = {"pass", "part", "kernel-class"};
  return names;
}

FrontierUnits FrontierUnits::of(std::size_t unit, bool joint) {
  FrontierUnits out;
  out.parts = unit > 0;
  out.joint = joint;
  if (unit < 2) return out;
  if (joint) {
    fail_input({},
               "--joint chooses clocks of parts between collectives, --unit kernel-class those of classes of kernels",
               "leave one of the two out");
  }
  out.cut = PartCut::kernel_classes;
  return out;
}

namespace {

// Returns the choices for a job; `notes` gets a sentence on each that the job cannot have.
ClockUnits clock_units(const Job& job, const FrontierUnits& units, std::vector<std::string>* notes) {
  ClockUnits out;
  if (units.parts || units.joint) out.change = to_picoseconds(units.change_s);
  out.cut = units.cut;
  if (!units.joint) return out;
  out.launches = units.launches;
  out.channels_of_parts = true;
  std::vector<int> nanobatches = {1, 2};
  Job halved = job;
  halved.strategy.nanobatches = 2;
  const auto violation = first_violation(
      {job.model, job.training, job.framework, halved.strategy, static_cast<int>(job.strategy.ranks())});
  if (violation) {
    nanobatches.pop_back();
    if (notes != nullptr) notes->push_back("microbatches run whole: " + violation->message);
  }
  std::vector<int> multiprocessors = units.communication_sms;
  multiprocessors.push_back(0);
  for (const int parts : nanobatches) {
    for (const int limit : multiprocessors) {
      if (parts == job.strategy.nanobatches && limit == job.strategy.communication_sms) continue;
      out.ways.push_back({parts, limit});
    }
  }
  return out;
}

FrontierStep step_of(std::string choices, const Frontier& found) {
  const StragglerPlan& plan = found.plans.front();
  return {std::move(choices), found.t_min_s, found.points.front().energy_j,
          plan.energy_until_deadline_j(plan.executed, found.blocked_w), found.intrinsic_saving()};
}

}  // namespace

std::vector<FrontierStep> frontier_steps(const Scenario& scenario, const FrontierUnits& units, const Frontier& asked) {
  if (!units.parts && !units.joint) return {};
  const Job job = job_stragglers(scenario.job).even;
  std::vector<FrontierStep> out;
  const auto add = [&](std::string choices, const FrontierUnits& fewer) {
    out.push_back(step_of(std::move(choices), frontier(clocked_program(job, clock_units(job, fewer, nullptr)))));
  };
  add("one clock a pass", {});
  const auto parts_with = [&](double change_s, PartCut cut) {
    FrontierUnits parts;
    parts.parts = true;
    parts.cut = cut;
    parts.change_s = change_s;
    return parts;
  };
  const auto words = [](double change_s, PartCut cut) {
    return fmt::format("a clock for each {}, changed in {}", cut == PartCut::collectives ? "part" : "class of kernels",
                       change_s > 0 ? format_seconds(change_s) : "no time");
  };
  if (units.joint) {
    add(words(units.change_s, units.cut), parts_with(units.change_s, units.cut));
    FrontierUnits halves = units;
    halves.communication_sms.clear();
    halves.launches = false;
    add("and microbatches whole or in two parts", halves);
    halves.launches = true;
    add("and the kernel that a collective starts with", halves);
    out.push_back(step_of("and multiprocessors of each part's collectives", asked));
    return out;
  }
  if (units.cut != PartCut::collectives) {
    add(words(units.change_s, PartCut::collectives), parts_with(units.change_s, PartCut::collectives));
  }
  constexpr std::array kChanges = {0.0, 1e-3, 10e-3};
  for (const double change_s : kChanges) {
    if (change_s != units.change_s) add(words(change_s, units.cut), parts_with(change_s, units.cut));
  }
  out.push_back(step_of(words(units.change_s, units.cut), asked));
  return out;
}

ClockedSubject clocked_subject(const Scenario& scenario, const ScenarioSources& sources,
                               std::span<const double> stragglers, const FrontierUnits& units) {
  ClockedSubject out;
  out.title = fmt::format("{}: {}, {}", scenario.name, counted_text(scenario.job.strategy.ranks(), "GPU"),
                          counted_text(scenario.job.strategy.pipeline, "stage"));
  JobStragglers perturbed = job_stragglers(scenario.job);
  std::vector<std::string> unlike;
  out.clocked = clocked_program(perturbed.even, clock_units(perturbed.even, units, &unlike));
  out.notes = notes_on_choices(out.clocked);
  out.notes.insert(out.notes.end(), unlike.begin(), unlike.end());
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

DocumentSubject clocked_subject(const Document& document, const ScenarioSources& sources,
                                std::span<const double> stragglers, const FrontierUnits& units) {
  if (names_capture(document)) {
    if (units.parts || units.joint) {
      Mapping{Node(document)}.require("capture").fail(
          "--unit and --joint are of scenarios: a captured pass has one clock",
          "leave them out, or describe the job in a scenario");
    }
    const CaptureSources captures(sources);
    return {clocked_subject(read_captured_scenario(document, captures), captures, stragglers), {}};
  }
  Scenario scenario = parse_scenario(document, sources);
  ClockedSubject subject = clocked_subject(scenario, sources, stragglers, units);
  return {std::move(subject), std::move(scenario)};
}

}  // namespace mirfak
