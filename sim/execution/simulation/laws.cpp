#include "simulation/laws.hpp"

#include "base/units.hpp"
#include "network/node_topology.hpp"
#include "program/replica_classes.hpp"
#include "simulation/borrowed_figures.hpp"
#include "simulation/corrections.hpp"
#include "simulation/prediction_range.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace mirfak {

namespace {

// Times are whole picoseconds, and sums have as many terms as there are tasks.
constexpr double kRounding = 1e-6;

void check_power(const Job& job, const IterationResult& result, std::vector<std::string>& broken) {
  const std::vector<ReplicaClass> classes = replica_classes(job);
  for (std::size_t i = 0; i < result.stages.size(); ++i) {
    const auto stage = static_cast<int>(i / classes.size());
    const GpuSpec& gpu = job.hardware_of(stage, classes[i % classes.size()].first()).hardware.gpu;
    const double power_w = result.stages[i].average_power_w;
    if (power_w > gpu.limit_w() * (1 + kRounding)) {
      broken.push_back(fmt::format("a GPU of stage {} draws {:.4g} W on average, above its limit of {:g} W", stage,
                                   power_w, gpu.limit_w()));
    } else if (power_w < gpu.idle_w.value * (1 - kRounding)) {
      broken.push_back(fmt::format("a GPU of stage {} draws {:.4g} W on average, below the {:g} W of an idle one",
                                   stage, power_w, gpu.idle_w.value));
    }
  }
}

void check_times(const IterationResult& result, std::vector<std::string>& broken) {
  for (std::size_t i = 0; i < result.stages.size(); ++i) {
    const ActivitySeconds& seconds = result.stages[i].activity_s;
    const double sum = std::accumulate(seconds.begin(), seconds.end(), 0.0);
    if (std::abs(sum - result.iteration_time_s) <= kRounding * result.iteration_time_s) continue;
    broken.push_back(fmt::format("what entry {} of the stages spends its time on adds up to {}, not to {}", i,
                                 format_seconds(sum), format_seconds(result.iteration_time_s)));
  }
}

// Returns what the figures of one learner say of all, and what the wait for other learners leaves out.
std::string note_on_learners(const IterationResult& result) {
  const OuterStep& outer = result.outer;
  return fmt::format(
      "training.local_steps: figures are those of one of {} learners, which together have {} GPUs and {} tokens/s; an "
      "iteration has {} of waiting for the others. The outer optimizer's arithmetic, and traffic of the learners on "
      "the "
      "same links, are left out; powers over time are those of steps without the wait",
      outer.learners, format_count(static_cast<double>(outer.learners) * result.gpus),
      format_count(outer.learners * result.tokens_per_s), format_seconds(outer.exposed_s));
}

}  // namespace

std::vector<std::string> broken_laws(const Job& job, const IterationResult& result) {
  std::vector<std::string> broken;
  check_power(job, result, broken);
  if (result.hfu > 1 + kRounding) {
    broken.push_back(fmt::format("GPUs execute {:.4g} % of their peak", 100 * result.hfu));
  }
  if (result.mfu > result.hfu * (1 + kRounding)) {
    broken.push_back(fmt::format("GPUs execute {:.4g} % of their peak with recomputation, and {:.4g} % without",
                                 100 * result.hfu, 100 * result.mfu));
  }
  check_times(result, broken);
  for (std::string& law : broken) law = "fault of this program, a law of physics is broken: " + law;
  return broken;
}

namespace {

// Returns notes on rooms and pages of experts, whose overflow makes the program run a step once more.
std::vector<std::string> expert_room_notes(const Job& job) {
  const Strategy& s = job.strategy;
  std::vector<std::string> notes;
  if (s.expert_rank_capacity == 0) return notes;
  if (!job.cluster.perturbations().experts) {
    const double pages = s.expert_stash > 0 ? s.expert_stash + s.expert_stash_host : s.expert_rank_capacity;
    notes.push_back(
        fmt::format("strategy.expert_rank_capacity: experts are taken to be chosen evenly. A step in which a rank gets "
                    "more than {:.4g} times the rows of that runs once more, without graphs and rooms: no prediction "
                    "has how often (cluster.perturbations.experts checks measured rows)",
                    std::min(pages, s.expert_rank_capacity)));
  }
  if (s.expert_stash > 0) {
    notes.emplace_back(
        "strategy.expert_stash: no measurement has judged the time of copies to pages; the range ends where no kernel "
        "runs beside them");
  }
  return notes;
}

}  // namespace

std::vector<std::string> notes_on(const Job& job, const IterationResult& result) {
  std::vector<std::string> notes = broken_laws(job, result);
  if (result.slowest_stands_for_others) {
    notes.emplace_back(
        "links between switches or perturbations slow ranks unlike: those of a stage are taken to be as slow as the "
        "slowest, as a program with all of them would be too large");
  }
  if (result.outer.learners > 0) notes.push_back(note_on_learners(result));
  if (job.training.preferences.reference == Reference::computed_before) {
    notes.emplace_back(
        "training.preferences: the reference reads all data once in front of the training, which is not counted");
  }
  for (std::string& room : expert_room_notes(job)) notes.push_back(std::move(room));
  for (std::string& topology : topology_notes(job.cluster)) notes.push_back(std::move(topology));
  for (std::string& correction : corrections_of(job)) notes.push_back(std::move(correction));
  for (std::string& borrowed : borrowed_figures(job, result)) notes.push_back(std::move(borrowed));
  for (std::string& stand_in : attention_stand_ins(job, result)) notes.push_back(std::move(stand_in));
  for (std::string& unmeasured : unmeasured_software(job)) notes.push_back(std::move(unmeasured));
  for (std::string& throttled : throttled_gpus(job.cluster)) notes.push_back(std::move(throttled));
  return notes;
}

}  // namespace mirfak
