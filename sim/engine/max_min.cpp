#include "engine/max_min.hpp"

#include <algorithm>
#include <numeric>

// Progressive filling (Bertsekas and Gallager, Data Networks, 1992, section 6.5.2). Raise the speeds of all tasks
// together from 0. When a link saturates, the tasks on it are frozen at that speed; the others rise on, until all are
// frozen or have reached 1. With F the sum of demands of a link's tasks that still rise, and R the capacity left to
// them, the link saturates at speed R / F; freezing a task below that speed can only raise R / F, so a heap of
// possibly outdated levels is safe: the one on top is brought up to date, and if it changed, pushed back.
//
// Example: link A of 10 with tasks x (demand 10) and y (demand 10), link B of 12 with y (6) and z (9).
// A saturates at 10/20 = 0.5, B at 12/15 = 0.8: x = y = 0.5. B has 12 - 6 * 0.5 = 9 left for z: 9/9 = 1, z = 1.
//
// The cost is O(uses + saturations x log links), against O(links x uses) of rescanning all links for each.

namespace mirfak {

namespace {

constexpr double kRising = -1;  // the speed of a task not frozen yet

// Standard heaps keep the largest on top.
constexpr auto kHigher = [](const auto& a, const auto& b) {
  return a.speed != b.speed ? a.speed > b.speed : a.link > b.link;
};

}  // namespace

void MaxMinProblem::clear() {
  capacity.clear();
  uses.clear();
  use_begin.assign(1, 0);
}

void MaxMinSolver::list_users(const MaxMinProblem& problem) {
  const std::size_t links = problem.capacity.size();
  total_demand_.assign(links, 0);
  rising_.assign(links, 0);
  for (const auto& [link, demand] : problem.uses) {
    total_demand_[link] += demand;
    ++rising_[link];
  }
  user_begin_.resize(links + 1);
  user_begin_[0] = 0;
  std::partial_sum(rising_.begin(), rising_.end(), user_begin_.begin() + 1);
  users_.resize(problem.uses.size());
  std::uint32_t use = 0;
  for (std::uint32_t task = 0; task < problem.tasks(); ++task) {
    for (; use < problem.use_begin[task + 1]; ++use) users_[user_begin_[problem.uses[use].link]++] = task;
  }
  std::copy_backward(user_begin_.begin(), user_begin_.end() - 1, user_begin_.end());
  user_begin_[0] = 0;
}

void MaxMinSolver::push(const Level& level) {
  levels_.push_back(level);
  std::push_heap(levels_.begin(), levels_.end(), kHigher);
}

MaxMinSolver::Level MaxMinSolver::pop() {
  std::pop_heap(levels_.begin(), levels_.end(), kHigher);
  const Level lowest = levels_.back();
  levels_.pop_back();
  return lowest;
}

double MaxMinSolver::saturation(std::uint32_t link) {
  // In exact arithmetic the level never falls; rounding must not make it.
  saturation_[link] = std::max(saturation_[link], free_[link] / demand_[link]);
  return saturation_[link];
}

void MaxMinSolver::freeze_users(const MaxMinProblem& problem, const Level& level) {
  for (std::uint32_t user = user_begin_[level.link]; user < user_begin_[level.link + 1]; ++user) {
    const std::uint32_t task = users_[user];
    if (speed_[task] != kRising) continue;
    speed_[task] = level.speed;
    for (std::uint32_t use = problem.use_begin[task]; use < problem.use_begin[task + 1]; ++use) {
      const auto& [link, demand] = problem.uses[use];
      free_[link] -= level.speed * demand;
      demand_[link] -= demand;
      --rising_[link];
    }
  }
}

std::span<const double> MaxMinSolver::solve(const MaxMinProblem& problem) {
  list_users(problem);
  speed_.assign(problem.tasks(), kRising);
  free_ = problem.capacity;
  demand_ = total_demand_;
  saturation_.assign(problem.capacity.size(), 0);
  levels_.clear();
  for (std::uint32_t link = 0; link < problem.capacity.size(); ++link) {
    if (demand_[link] > free_[link]) push({saturation(link), link});
  }
  while (!levels_.empty() && levels_.front().speed < 1) {
    const Level lowest = pop();
    if (rising_[lowest.link] == 0) continue;
    const double current = saturation(lowest.link);
    if (current > lowest.speed) {
      push({current, lowest.link});
    } else {
      freeze_users(problem, lowest);
    }
  }
  std::replace(speed_.begin(), speed_.end(), kRising, 1.0);
  return speed_;
}

}  // namespace mirfak
