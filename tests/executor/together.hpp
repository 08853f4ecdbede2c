#pragma once

#include "executor/executor.hpp"
#include "executor/rank_plan.hpp"
#include "simulation/iteration.hpp"

#include <map>
#include <tuple>
#include <utility>
#include <vector>

namespace mirfak::test {

// Executes the plans of all ranks by a loop that does what executors promise and nothing more: ranks take turns, each
// queue in order, a task when what it waits for has ended; a task that is done together ends when its last member
// begins it. Checks that what begins together belongs together.
class Together {
 public:
  Together(const Simulation& simulation, const measure::ExecutionGroups& groups);

  bool run();  // whether every task has ended

  const std::vector<measure::RankPlan>& plans() const { return plans_; }
  const std::vector<std::vector<measure::TaskTime>>& times() const { return times_; }

 private:
  // The members that take part in a task, by what they know of it: the how many-th of its group or direction.
  struct Meeting {
    std::size_t members = 0;
    std::vector<std::pair<std::size_t, std::uint32_t>> begun;  // rank and task
  };

  bool turn();
  bool advance(std::size_t rank, std::size_t queue);
  void begin(std::size_t rank, std::uint32_t index);
  void join(std::size_t rank, std::uint32_t index, Meeting& meeting);
  Meeting& message_of(std::size_t rank, const measure::RankTask& task, int peer);
  Meeting& meeting_of(std::size_t rank, const measure::RankTask& task);
  void received(std::size_t rank, std::uint32_t index);
  void end(std::size_t rank, std::uint32_t index);

  using Key = std::tuple<int, int, int, int, bool>;
  const measure::ExecutionGroups& groups_;
  std::vector<measure::RankPlan> plans_;
  std::vector<std::vector<measure::TaskTime>> times_;
  std::vector<std::vector<std::uint8_t>> begun_;
  std::vector<std::vector<std::uint8_t>> ended_;
  std::vector<std::vector<std::size_t>> next_;
  std::map<Key, int> counts_;
  std::map<Key, Meeting> meetings_;
  std::map<std::pair<std::size_t, std::uint32_t>, std::size_t> left_;  // of transfers that have begun
  std::map<std::pair<int, int>, Meeting> gathers_;                     // by group, and which of its gathers it is
  double clock_ = 0;
};

}  // namespace mirfak::test
