#include "validation/layout_choices.hpp"

#include "base/error_statistics.hpp"

#include <algorithm>
#include <cstddef>

namespace mirfak {

namespace {

using Candidates = std::vector<const ValidatedRun*>;

constexpr std::size_t kShortlist = 3;

double least_measured(std::span<const ValidatedRun* const> runs) {
  return (*std::min_element(
              runs.begin(), runs.end(),
              [](const ValidatedRun* a, const ValidatedRun* b) { return a->seconds.measured < b->seconds.measured; }))
      ->seconds.measured;
}

// Sorts by prediction. Of equal predictions, failures come first and then the slowest: nothing is won by a tie.
void sort_by_prediction(Candidates& runs) {
  std::stable_sort(runs.begin(), runs.end(), [](const ValidatedRun* a, const ValidatedRun* b) {
    if (a->seconds.predicted != b->seconds.predicted) return a->seconds.predicted < b->seconds.predicted;
    if (a->run.out_of_memory != b->run.out_of_memory) return a->run.out_of_memory;
    return a->seconds.measured > b->seconds.measured;
  });
}

void judge_order(LayoutChoice& out, const Candidates& sorted) {
  Candidates timed;
  std::vector<PredictedPair> pairs;
  for (const ValidatedRun* run : sorted) {
    if (!run->scored()) continue;
    timed.push_back(run);
    pairs.push_back(run->seconds);
  }
  out.timed = static_cast<int>(timed.size());
  if (timed.size() < 2) return;
  const double best_s = least_measured(timed);
  out.correlation = rank_correlation(pairs);
  out.regret = timed.front()->seconds.measured / best_s - 1;
  out.regret_of_three = least_measured(std::span(timed).first(std::min(kShortlist, timed.size()))) / best_s - 1;
}

void judge_outcomes(LayoutChoice& out, const Candidates& sorted) {
  double best_s = 0;
  const ValidatedRun* choice = nullptr;
  for (const ValidatedRun* run : sorted) {
    const bool failed = run->run.out_of_memory;
    out.failed += failed ? 1 : 0;
    out.failed_fitting += failed && run->fits ? 1 : 0;
    out.failed_admitted += failed && !run->held_back ? 1 : 0;
    out.ran_too_large += !failed && !run->fits ? 1 : 0;
    out.ran_held_back += !failed && run->held_back ? 1 : 0;
    if (!run->held_back && choice == nullptr) choice = run;
    if (run->scored() && (best_s == 0 || run->seconds.measured < best_s)) best_s = run->seconds.measured;
  }
  if (choice == nullptr) return;
  out.choice_ran = !choice->run.out_of_memory;
  if (choice->scored()) out.regret_of_choice = choice->seconds.measured / best_s - 1;
}

LayoutChoice judged(const std::string& table, const std::string& group, Candidates runs) {
  LayoutChoice out;
  out.table = table;
  out.group = group;
  sort_by_prediction(runs);
  judge_order(out, runs);
  judge_outcomes(out, runs);
  return out;
}

// A mean over the values that are known.
class Mean {
 public:
  void add(const std::optional<double>& value) {
    sum_ += value.value_or(0);
    count_ += value ? 1 : 0;
  }
  std::optional<double> get() const {
    if (count_ == 0) return std::nullopt;
    return sum_ / count_;
  }

 private:
  double sum_ = 0;
  int count_ = 0;
};

}  // namespace

std::vector<LayoutChoice> layout_choices(const std::string& table, std::span<const ValidatedRun> runs,
                                         const std::string& tiers) {
  std::vector<std::string> names;  // in order
  std::vector<Candidates> groups;
  for (const ValidatedRun& run : runs) {
    const bool counts = run.run.tier.empty() || tiers.find(run.run.tier) != std::string::npos;
    if (!counts || run.run.group.empty() || !run.simulated()) continue;
    const auto known = std::find(names.begin(), names.end(), run.run.group);
    const auto at = static_cast<std::size_t>(known - names.begin());
    if (known == names.end()) {
      names.push_back(run.run.group);
      groups.emplace_back();
    }
    groups[at].push_back(&run);
  }
  std::vector<LayoutChoice> out;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (groups[i].size() > 1) out.push_back(judged(table, names[i], std::move(groups[i])));
  }
  return out;
}

LayoutChoices all_choices(std::span<const LayoutChoice> groups) {
  LayoutChoices out;
  Mean correlation;
  Mean regret;
  Mean regret_of_three;
  Mean regret_of_choice;
  for (const LayoutChoice& group : groups) {
    ++out.groups;
    out.timed += group.timed;
    out.failed += group.failed;
    out.failed_fitting += group.failed_fitting;
    out.failed_admitted += group.failed_admitted;
    out.ran_too_large += group.ran_too_large;
    out.ran_held_back += group.ran_held_back;
    out.choices += group.choice_ran.has_value() ? 1 : 0;
    out.choices_ran += group.choice_ran.value_or(false) ? 1 : 0;
    correlation.add(group.correlation);
    regret.add(group.regret);
    regret_of_three.add(group.regret_of_three);
    regret_of_choice.add(group.regret_of_choice);
  }
  out.correlation = correlation.get();
  out.regret = regret.get();
  out.regret_of_three = regret_of_three.get();
  out.regret_of_choice = regret_of_choice.get();
  return out;
}

}  // namespace mirfak
