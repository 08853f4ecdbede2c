#include "energy/clock_exchange.hpp"

#include "energy/clock_plan.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace mirfak {

namespace {

// Two passes of a stage, and the choices that they would take.
struct Exchange {
  TaskId faster = 0;
  TaskId slower = 0;
  const ClockChoice* of_faster = nullptr;
  const ClockChoice* of_slower = nullptr;
  double saves_j = 0;
};

// Tasks of a stream with the same kind of pass and the same choice are alike up to their slack.
using Alike = std::tuple<std::uint32_t, std::int32_t, Picoseconds>;  // stream, kind, duration

class Exchanges {
 public:
  Exchanges(const ClockedProgram& clocked, const ClockAssignment& clocks, Picoseconds deadline)
      : clocked_(clocked), clocks_(clocks), slacks_(slacks(clocked, clocks, deadline)) {
    for (TaskId task = 0; task < clocks.size(); ++task) {
      if (!clocked.is_clocked(task)) continue;
      const auto [known, is_new] = most_slack_.try_emplace(alike(task), task);
      if (!is_new && slacks_[task] > slacks_[known->second]) known->second = task;
      if (is_new) streams_[clocked.program.stream[task]].push_back(alike(task));
    }
  }

  // Returns exchanges that save energy, the most saving first.
  std::vector<Exchange> all() const {
    std::vector<Exchange> out;
    for (const auto& [stream, kinds] : streams_) {
      for (const Alike& slow : kinds) {
        for (const Alike& fast : kinds) add(most_slack_.at(fast), most_slack_.at(slow), out);
      }
    }
    std::sort(out.begin(), out.end(), [](const Exchange& a, const Exchange& b) {
      return std::tuple(-a.saves_j, a.faster, a.slower) < std::tuple(-b.saves_j, b.faster, b.slower);
    });
    return out;
  }

 private:
  Alike alike(TaskId task) const {
    return {clocked_.program.stream[task], clocked_.kind_of(task), clocks_[task].duration};
  }

  // Adds the best exchange between two tasks for each of some faster choices.
  void add(TaskId faster, TaskId slower, std::vector<Exchange>& out) const {
    if (faster == slower) return;
    constexpr std::ptrdiff_t kSteps = 4;
    const std::vector<ClockChoice>& choices = clocked_.choices_for(faster).useful;
    auto next = std::find_if(choices.begin(), choices.end(),
                             [&](const ClockChoice& choice) { return choice.duration < clocks_[faster].duration; });
    for (std::ptrdiff_t step = 0; step < kSteps && next != choices.end(); ++step, ++next) {
      const Picoseconds available =
          clocks_[slower].duration + slacks_[slower] + clocks_[faster].duration - next->duration;
      const ClockChoice* slow = slowest(slower, available);
      const double saves_j =
          clocks_[faster].energy_j - next->energy_j + clocks_[slower].energy_j - (slow ? slow->energy_j : 0);
      if (slow != nullptr && saves_j > 0) out.push_back({faster, slower, &*next, slow, saves_j});
    }
  }

  const ClockChoice* slowest(TaskId task, Picoseconds available) const {
    for (const ClockChoice& choice : clocked_.choices_for(task).useful) {
      if (choice.duration <= available) return choice.duration > clocks_[task].duration ? &choice : nullptr;
    }
    return nullptr;
  }

  const ClockedProgram& clocked_;
  const ClockAssignment& clocks_;
  std::vector<Picoseconds> slacks_;
  std::map<Alike, TaskId> most_slack_;
  std::map<std::uint32_t, std::vector<Alike>> streams_;
};

}  // namespace

double energy_of_passes(const ClockedProgram& clocked, const ClockAssignment& clocks) {
  double out = 0;
  for (TaskId task = 0; task < clocks.size(); ++task) {
    if (clocked.is_clocked(task)) out += clocks[task].energy_j;
  }
  return out;
}

ClockAssignment exchange_clocks(const ClockedProgram& clocked, ClockAssignment clocks, Picoseconds deadline,
                                double enough_j) {
  double energy_j = energy_of_passes(clocked, clocks);
  for (int tries = 0; energy_j > enough_j && tries < kMostTries;) {
    bool found = false;
    for (const Exchange& each : Exchanges(clocked, clocks, deadline).all()) {
      if (found || tries++ == kMostTries) break;
      ClockAssignment tried = clocks;
      tried[each.faster] = *each.of_faster;
      tried[each.slower] = *each.of_slower;
      if (planned_makespan(clocked, tried) > deadline) continue;
      clocks = std::move(tried);
      energy_j -= each.saves_j;
      found = true;
    }
    if (!found) break;
  }
  return clocks;
}

}  // namespace mirfak
