#include "comparison/result_difference.hpp"

#include "base/error.hpp"
#include "scenario/stated_notes.hpp"
#include "simulation/figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace mirfak {

namespace {

std::vector<ComparedFigure> compare_figures(const IterationResult& a, const IterationResult& b) {
  const std::vector<FigureValue> of_a = stored_values(a);
  const std::vector<FigureValue> of_b = stored_values(b);
  std::vector<ComparedFigure> out;
  for (std::size_t i = 0; i < of_a.size(); ++i) {
    ComparedFigure& figure = out.emplace_back();
    figure.key = of_a[i].key();
    figure.title = of_a[i].figure->label;
    if (of_a[i].known) figure.a = of_a[i].number;
    if (of_b[i].known) figure.b = of_b[i].number;
  }
  return out;
}

std::vector<ComparedFigure> compare_activities(const IterationResult& a, const IterationResult& b) {
  std::vector<ComparedFigure> out;
  for (std::size_t i = 0; i < kActivities; ++i) {
    const auto activity = static_cast<Activity>(i);
    out.push_back(
        {std::string(key_of(activity)) + "_s", std::string(name_of(activity)), a.activity_s[i], b.activity_s[i]});
  }
  return out;
}

// Returns the seconds of each stage, on average over its classes of replicas.
std::vector<StageSeconds> stage_seconds(const Simulation& simulation) {
  std::vector<StageSeconds> out(static_cast<std::size_t>(simulation.job.strategy.pipeline));
  std::vector<double> ranks(out.size());
  for (const StagePlan& plan : simulation.plans) ranks[static_cast<std::size_t>(plan.stage)] += plan.ranks;
  for (std::size_t place = 0; place < simulation.plans.size(); ++place) {
    const auto stage = static_cast<std::size_t>(simulation.plans[place].stage);
    const double share = simulation.plans[place].ranks / ranks[stage];
    const ActivitySeconds& seconds = simulation.result.stages[place].activity_s;
    out[stage].compute += share * seconds_between(seconds, Activity::gemm, Activity::optimizer);
    out[stage].communication +=
        share * seconds_between(seconds, Activity::tensor_communication, Activity::pipeline_communication);
    out[stage].host += share * seconds_between(seconds, Activity::host, Activity::host);
    out[stage].bubble += share * seconds_between(seconds, Activity::bubble, Activity::bubble);
  }
  return out;
}

std::vector<ComparedStage> compare_stages(const Simulation& a, const Simulation& b) {
  const std::vector<StageSeconds> of_a = stage_seconds(a);
  const std::vector<StageSeconds> of_b = stage_seconds(b);
  std::vector<ComparedStage> out(std::max(of_a.size(), of_b.size()));
  for (std::size_t stage = 0; stage < out.size(); ++stage) {
    out[stage].stage = static_cast<int>(stage);
    if (stage < of_a.size()) out[stage].a = of_a[stage];
    if (stage < of_b.size()) out[stage].b = of_b[stage];
  }
  return out;
}

const MemoryUse& fullest_memory(const IterationResult& result) {
  return result.stages[result.fullest_plan].memory.peak;
}

std::vector<ComparedFigure> compare_memory(const IterationResult& a, const IterationResult& b) {
  std::vector<ComparedFigure> out;
  for (const MemoryPart& part : memory_parts()) {
    out.push_back({std::string(part.name) + "_bytes", std::string(part.name), fullest_memory(a).*part.bytes,
                   fullest_memory(b).*part.bytes});
  }
  return out;
}

std::vector<ComparedKernel> compare_kernels(const std::vector<KernelSeconds>& a, const std::vector<KernelSeconds>& b) {
  std::vector<ComparedKernel> out;
  const auto entry = [&out](const KernelSeconds& of) -> ComparedKernel& {
    const auto found = std::find_if(out.begin(), out.end(), [&of](const ComparedKernel& kernel) {
      return kernel.kind == of.kind && kernel.name == of.name;
    });
    if (found != out.end()) return *found;
    ComparedKernel& added = out.emplace_back();
    added.kind = of.kind;
    added.name = of.name;
    return added;
  };
  for (const KernelSeconds& kernel : a) entry(kernel).a = kernel;
  for (const KernelSeconds& kernel : b) entry(kernel).b = kernel;
  std::stable_sort(out.begin(), out.end(), [](const ComparedKernel& x, const ComparedKernel& y) {
    return std::abs(x.difference()) > std::abs(y.difference());
  });
  return out;
}

RangeVerdict verdict_on(const IterationResult& a, const IterationResult& b) {
  if (a.iteration_time_s == b.iteration_time_s) return RangeVerdict::equal;
  if (a.iteration_time_high_s <= 0 || b.iteration_time_high_s <= 0) return RangeVerdict::unknown;
  const bool apart =
      a.iteration_time_high_s < b.iteration_time_low_s || b.iteration_time_high_s < a.iteration_time_low_s;
  return apart ? RangeVerdict::separated : RangeVerdict::overlap;
}

// Adds the kernels. A program may be too large kernel by kernel if the iteration itself is not.
void add_kernels(const ComparedRun& a, const ComparedRun& b, ResultDifference& out) {
  try {
    const std::vector<KernelSeconds> of_a = kernel_seconds(*a.simulation);
    const std::vector<KernelSeconds> of_b = kernel_seconds(*b.simulation);
    for (ComparedKernel& kernel : compare_kernels(of_a, of_b)) {
      const bool communicates = kernel.a ? kernel.a->communicates : kernel.b->communicates;
      (communicates ? out.communication : out.kernels).push_back(std::move(kernel));
    }
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::infeasible) throw;
    out.notes.push_back(fmt::format("kernels are not told apart: {}", error.message()));
  }
}

// Adds the notes that the scenarios state, and those on their assertions; equal notes of both once.
void add_notes_of_scenarios(const ComparedRun& a, const ComparedRun& b, ResultDifference& out) {
  for (const ComparedRun* const run : {&a, &b}) {
    std::vector<std::string> notes = stated_notes(run->scenario->document);
    for (std::string& note : notes_unchecked(run->scenario->assertions)) notes.push_back(std::move(note));
    for (std::string& note : notes) {
      if (std::find(out.notes.begin(), out.notes.end(), note) == out.notes.end()) out.notes.push_back(std::move(note));
    }
  }
}

}  // namespace

ResultDifference result_difference(const ComparedRun& a, const ComparedRun& b) {
  const IterationResult& of_a = a.simulation->result;
  const IterationResult& of_b = b.simulation->result;
  ResultDifference out;
  out.verdict = verdict_on(of_a, of_b);
  out.keys = key_differences(a.scenario->completed, b.scenario->completed);
  out.figures = compare_figures(of_a, of_b);
  out.activities = compare_activities(of_a, of_b);
  out.stages = compare_stages(*a.simulation, *b.simulation);
  out.memory = compare_memory(of_a, of_b);
  add_kernels(a, b, out);
  add_notes_of_scenarios(a, b, out);
  return out;
}

}  // namespace mirfak
