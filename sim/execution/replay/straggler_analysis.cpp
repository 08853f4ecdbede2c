#include "replay/straggler_analysis.hpp"

#include "base/averages.hpp"
#include "base/parallel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <utility>

namespace mirfak {

namespace {

constexpr double kSlowestShare = 0.03;         // share of the workers
constexpr std::size_t kWorkersIdealised = 32;  // those with the highest scores, each by itself

// Operations that a question is about; several sets are idealised together.
struct Subject {
  Blame* blame = nullptr;
  std::vector<OperationSet> sets;
  bool removed = true;  // also ask what is left without them
};

double mean_of(const std::vector<StepTimes>& steps, double StepTimes::*time) {
  const double sum = std::accumulate(steps.begin(), steps.end(), 0.0,
                                     [&](double so_far, const StepTimes& of) { return so_far + of.*time; });
  return sum / static_cast<double>(steps.size());
}

void ask(const Replay& replay, const std::vector<Subject>& subjects, double ideal_s) {
  parallel_for(2 * subjects.size(), [&](std::size_t i) {
    const Subject& subject = subjects[i / 2];
    if (i % 2 == 0) {
      subject.blame->only_s = replay.mean_time_s({{OperationSet{}}, subject.sets, {}});
    } else if (subject.removed) {
      subject.blame->without_s = replay.mean_time_s({subject.sets, {}, {}});
    }
  });
  for (const Subject& subject : subjects) {
    subject.blame->slowdown = ideal_s > 0 ? subject.blame->only_s / ideal_s : 1;
  }
}

std::vector<Subject> single(std::vector<Blame>& blames) {
  std::vector<Subject> out;
  for (Blame& blame : blames) out.push_back({&blame, {blame.of}, true});
  return out;
}

void name_parts(const Replay& replay, StragglerAnalysis& out) {
  std::set<std::string> recorded;
  for (const IdealDuration& ideal : replay.ideal()) recorded.emplace(operation_kinds()[ideal.kind].category);
  for (const std::string& category : operation_categories()) {
    if (!recorded.contains(category)) continue;
    Blame blame;
    blame.name = blame.of.type = category;
    out.categories.push_back(std::move(blame));
  }
  std::set<int> stages;
  for (const MeasuredRank& rank : replay.trace().ranks) stages.insert(rank.stage);
  for (const int data : replay.trace().data_ranks()) {
    Blame blame;
    blame.of.data = data;
    blame.name = fmt::format("data rank {}", data);
    out.data_ranks.push_back(std::move(blame));
  }
  for (const int stage : stages) {
    Blame blame;
    blame.of.stage = stage;
    blame.name = fmt::format("stage {}", stage);
    out.stages.push_back(std::move(blame));
  }
}

void rank_workers(const Replay& replay, StragglerAnalysis& out) {
  for (const Blame& data : out.data_ranks) {
    for (const Blame& stage : out.stages) {
      Blame blame;
      blame.of.data = data.of.data;
      blame.of.stage = stage.of.stage;
      blame.name = fmt::format("data rank {}, stage {}", *data.of.data, *stage.of.stage);
      blame.score = std::min(data.slowdown, stage.slowdown);
      for (const MeasuredRank& rank : replay.trace().ranks) {
        if (rank.data == *data.of.data && rank.stage == *stage.of.stage) blame.ranks.push_back(rank.number);
      }
      out.workers.push_back(std::move(blame));
    }
  }
  std::stable_sort(out.workers.begin(), out.workers.end(),
                   [](const Blame& a, const Blame& b) { return a.score > b.score; });
  out.counted_workers = static_cast<std::size_t>(std::ceil(kSlowestShare * static_cast<double>(out.workers.size())));
}

void blame_workers(const Replay& replay, StragglerAnalysis& out) {
  std::vector<Subject> subjects;
  for (std::size_t i = 0; i < std::min(kWorkersIdealised, out.workers.size()); ++i) {
    subjects.push_back({&out.workers[i], {out.workers[i].of}, true});
  }
  Subject slowest{&out.slowest_workers, {}, true};
  for (std::size_t i = 0; i < out.counted_workers; ++i) {
    slowest.sets.push_back(out.workers[i].of);
    out.slowest_workers.ranks.insert(out.slowest_workers.ranks.end(), out.workers[i].ranks.begin(),
                                     out.workers[i].ranks.end());
  }
  out.slowest_workers.name = "slowest workers";
  subjects.push_back(std::move(slowest));
  ask(replay, subjects, out.mean_without_stragglers_s);
  if (out.workers.size() > kWorkersIdealised) out.workers.resize(kWorkersIdealised);
}

void time_steps(const Replay& replay, const std::optional<WhatIf>& what, StragglerAnalysis& out) {
  const std::vector<double> replayed = replay.times_s({});
  const std::vector<double> ideal = replay.times_s({{OperationSet{}}, {}, {}});
  std::vector<double> asked;
  if (what) asked = replay.times_s(*what);
  for (std::size_t step = 0; step < replay.steps(); ++step) {
    out.steps.push_back({replay.trace().steps[step], replay.measured_s(step), replayed[step], ideal[step],
                         what ? std::optional(asked[step]) : std::nullopt});
  }
  out.mean_measured_s = mean_of(out.steps, &StepTimes::measured_s);
  out.mean_replayed_s = mean_of(out.steps, &StepTimes::replayed_s);
  out.mean_without_stragglers_s = mean_of(out.steps, &StepTimes::without_stragglers_s);
  if (what) out.mean_what_if_s = mean(asked);
  if (out.mean_without_stragglers_s > 0) out.slowdown = out.mean_replayed_s / out.mean_without_stragglers_s;
  if (out.mean_replayed_s > 0) out.launch_slowdown = out.mean_measured_s / out.mean_replayed_s;
}

}  // namespace

std::optional<double> removed_share(const Blame& blame, double replayed_s, double ideal_s) {
  if (replayed_s == ideal_s) return std::nullopt;
  return (replayed_s - blame.without_s) / (replayed_s - ideal_s);
}

std::optional<double> added_share(const Blame& blame, double replayed_s, double ideal_s) {
  if (replayed_s == ideal_s) return std::nullopt;
  return (blame.only_s - ideal_s) / (replayed_s - ideal_s);
}

StragglerAnalysis analyse_stragglers(const Replay& replay, const std::optional<WhatIf>& what) {
  StragglerAnalysis out;
  time_steps(replay, what, out);
  name_parts(replay, out);
  for (std::vector<Blame>* blames : {&out.categories, &out.data_ranks, &out.stages}) {
    ask(replay, single(*blames), out.mean_without_stragglers_s);
  }
  out.last_stage = out.stages.back();
  rank_workers(replay, out);
  blame_workers(replay, out);
  return out;
}

}  // namespace mirfak
