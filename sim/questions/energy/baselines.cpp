#include "energy/baselines.hpp"

#include "engine/execute.hpp"
#include "engine/sweep.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>

namespace mirfak {

namespace {

// By stage: the share of their highest clock that the stage's devices are limited to.
using StageShares = std::vector<double>;

// Sums over all passes of a stage in an iteration.
struct StageSums {
  Picoseconds duration = 0;
  double energy_j = 0;  // above the energy of waiting
};

class StageClocks {
 public:
  explicit StageClocks(const ClockedProgram& clocked) : clocked_(clocked), scratch_(clocked.program) {
    for (const auto& settings : clocked.settings) {
      for (const ClockChoice& choice : settings) shares_.push_back(choice.clock_hz / settings.front().clock_hz);
    }
    std::sort(shares_.begin(), shares_.end(), std::greater<>());
    shares_.erase(std::unique(shares_.begin(), shares_.end()), shares_.end());
    for (const TaskClass& of : clocked.program.classes) stages_ = std::max(stages_, of.stage + 1);
    passes_.resize(static_cast<std::size_t>(stages_));
    for (TaskId task = 0; task < clocked.program.size(); ++task) {
      if (!clocked.is_clocked(task)) continue;
      const auto stage = static_cast<std::size_t>(clocked.program.class_of(task).stage);
      ++passes_[stage][static_cast<std::size_t>(clocked.kind_of(task))];
    }
  }

  int stages() const { return stages_; }
  StageShares everywhere(double share) const { return StageShares(static_cast<std::size_t>(stages_), share); }
  const std::vector<double>& shares() const { return shares_; }  // shares that make a difference, highest first

  // Returns the highest clock of a kind of pass that is not above the share; the lowest if all are above.
  const ClockChoice& choice(std::size_t kind, double share) const {
    const auto& settings = clocked_.settings[kind];
    const auto found = std::find_if(settings.begin(), settings.end(), [&](const ClockChoice& setting) {
      return setting.clock_hz <= share * settings.front().clock_hz;
    });
    return found == settings.end() ? settings.back() : *found;
  }

  ClockAssignment assignment(const StageShares& shares) const {
    ClockAssignment clocks(clocked_.program.size());
    each_clocked(shares, [&](TaskId task, const ClockChoice& choice) { clocks[task] = choice; });
    return clocks;
  }

  Picoseconds makespan(const StageShares& shares) {
    each_clocked(shares, [&](TaskId task, const ClockChoice& choice) { scratch_.duration[task] = choice.duration; });
    return scratch_.shares_links() ? execute(scratch_).makespan : sweep_.makespan(scratch_);
  }

  // Returns the energy of all passes, above waiting.
  double energy_j(const StageShares& shares) const {
    double sum = 0;
    each_clocked(shares, [&](TaskId, const ClockChoice& choice) { sum += choice.energy_j; });
    return sum;
  }

  // Returns the sums of one stage's passes at this share of the clock.
  StageSums work(int stage, double share) const {
    StageSums sum;
    const auto id = static_cast<std::size_t>(stage);
    for (const auto& [kind, count] : passes_[id]) {
      const ClockChoice& at = choice(kind, share);
      sum.duration += at.duration * count;
      sum.energy_j += at.energy_j * static_cast<double>(count);
    }
    return sum;
  }

 private:
  template <class Each>
  void each_clocked(const StageShares& shares, const Each& each) const {
    const Program& program = clocked_.program;
    std::vector<const ClockChoice*> of_class(program.classes.size(), nullptr);
    for (ClassId id = 0; id < of_class.size(); ++id) {
      if (clocked_.choices_of[id] < 0) continue;
      const double share = shares[static_cast<std::size_t>(program.classes[id].stage)];
      of_class[id] = &choice(static_cast<std::size_t>(clocked_.choices_of[id]), share);
    }
    for (TaskId task = 0; task < program.size(); ++task) {
      if (const ClockChoice* at = of_class[program.task_class[task]]) each(task, *at);
    }
  }

  const ClockedProgram& clocked_;
  Program scratch_;
  Sweep sweep_;
  std::vector<double> shares_;
  int stages_ = 0;
  std::vector<std::map<std::size_t, std::int64_t>> passes_;  // number of passes, by stage and kind
};

StageShares one_clock(StageClocks& clocks, double blocked_w, Picoseconds deadline) {
  StageShares best = clocks.everywhere(1);
  double min = std::numeric_limits<double>::infinity();
  for (const double share : clocks.shares()) {
    const StageShares all = clocks.everywhere(share);
    if (clocks.makespan(all) > deadline) break;
    const double energy = clocks.energy_j(all) + blocked_w * to_seconds(deadline);
    if (energy >= min) continue;
    min = energy;
    best = all;
  }
  return best;
}

// Sets every stage to the clock that needs least energy among those at which its passes take no longer than `longest`.
StageShares balanced(const StageClocks& clocks, Picoseconds longest) {
  StageShares shares = clocks.everywhere(1);
  for (int stage = 0; stage < clocks.stages(); ++stage) {
    double min = std::numeric_limits<double>::infinity();
    for (const double share : clocks.shares()) {
      const StageSums work = clocks.work(stage, share);
      if (work.duration > longest) break;
      if (work.energy_j >= min) continue;
      min = work.energy_j;
      shares[static_cast<std::size_t>(stage)] = share;
    }
  }
  return shares;
}

Picoseconds longest_work(const StageClocks& clocks, double share) {
  Picoseconds longest = 0;
  for (int stage = 0; stage < clocks.stages(); ++stage) longest = std::max(longest, clocks.work(stage, share).duration);
  return longest;
}

// Balances stages to the longest time with which the iteration keeps the deadline.
StageShares clock_per_stage(StageClocks& clocks, Picoseconds deadline) {
  constexpr int kHalvings = 20;
  Picoseconds kept = 0;
  Picoseconds missed = longest_work(clocks, clocks.shares().back()) + 1;
  for (int i = 0; i < kHalvings; ++i) {
    const Picoseconds middle = kept + (missed - kept) / 2;
    (clocks.makespan(balanced(clocks, middle)) <= deadline ? kept : missed) = middle;
  }
  return kept == 0 ? clocks.everywhere(1) : balanced(clocks, kept);
}

}  // namespace

std::vector<Baseline> baselines(const ClockedProgram& clocked, Picoseconds deadline) {
  StageClocks clocks(clocked);
  std::vector<Baseline> out;
  using Kind = Baseline::Kind;
  const auto add = [&](Kind kind, const char* name, const StageShares& shares) {
    out.push_back({kind, name, execute_clocks(clocked, clocks.assignment(shares))});
  };
  add(Kind::highest_clock, "highest clock", clocks.everywhere(1));
  add(Kind::lowest_clock, "lowest clock", clocks.everywhere(clocks.shares().back()));
  add(Kind::one_clock, "one clock", one_clock(clocks, clocked.blocked_w, deadline));
  add(Kind::clock_per_stage, "a clock per stage", clock_per_stage(clocks, deadline));
  add(Kind::balanced_stages, "balanced stages", balanced(clocks, longest_work(clocks, 1)));
  return out;
}

}  // namespace mirfak
