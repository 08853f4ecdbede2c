#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace mirfak {

// Tasks that use links: who runs, and how much of which link each needs at full speed.
struct MaxMinProblem {
  struct Use {
    std::uint32_t link = 0;
    double demand = 0;  // bytes/s at speed 1; > 0
  };
  std::vector<double> capacity;  // bytes/s of each link; >= 0
  std::vector<Use> uses;         // those of task t are uses[use_begin[t] .. use_begin[t + 1])
  std::vector<std::uint32_t> use_begin{0};

  std::size_t tasks() const { return use_begin.size() - 1; }
  void clear();
  // Adding tasks: append the uses of one, then call this.
  void end_task() { use_begin.push_back(static_cast<std::uint32_t>(uses.size())); }
};

// The max-min fair speeds: the one vector with 0 <= speed <= 1 and, for every link,
// sum of speed x demand <= capacity, in which no speed can be raised without lowering one that is not larger.
//
// The result is a pure function of the problem, and the speed of a task depends, to the last bit, only on the tasks it
// is connected to by links on which the demands sum to more than the capacity, and on their order: solving such a
// component alone gives the same bits as solving everything.
class MaxMinSolver {
 public:
  // One speed per task; valid until the next call. Keeps its working memory between calls.
  std::span<const double> solve(const MaxMinProblem& problem);

  // Per link of the last problem: the sum of the demands at full speed.
  std::span<const double> total_demand() const { return total_demand_; }

 private:
  struct Level {
    double speed;  // at which the link would saturate
    std::uint32_t link;
  };

  void list_users(const MaxMinProblem& problem);
  double saturation(std::uint32_t link);
  void freeze_users(const MaxMinProblem& problem, const Level& level);
  void push(const Level& level);
  Level pop();

  std::vector<double> speed_;
  std::vector<double> total_demand_;
  std::vector<double> free_;               // per link: capacity that frozen tasks leave
  std::vector<double> demand_;             // per link: demand of the tasks not frozen yet
  std::vector<double> saturation_;         // per link: the last level computed; never falls
  std::vector<std::uint32_t> rising_;      // per link: uses by tasks not frozen yet
  std::vector<std::uint32_t> user_begin_;  // per link: its users are users_[user_begin_[l] .. user_begin_[l + 1])
  std::vector<std::uint32_t> users_;
  std::vector<Level> levels_;  // a heap, lowest (speed, link) first
};

}  // namespace mirfak
