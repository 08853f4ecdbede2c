#include "executor/marks.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace mirfak::measure {

namespace {

constexpr TaskId kNone = ~TaskId{0};
constexpr int kTenth = 10;  // the least part of a task that stays

class MarkRemoval {
 public:
  MarkRemoval(const Program& program, const ExecutionGroups& groups, const Timeline& marked, bool one_gpu)
      : program_(program),
        groups_(groups),
        marked_(marked),
        order_(program.size()),
        before_(program.size(), kNone),
        turn_(program.size(), kNone) {
    std::iota(order_.begin(), order_.end(), TaskId{0});
    std::stable_sort(order_.begin(), order_.end(),
                     [&](TaskId a, TaskId b) { return marked_.start[a] < marked_.start[b]; });
    find_streams();
    if (one_gpu) find_turns();
  }

  Timeline without(Picoseconds mark) const {
    Timeline out = marked_;
    out.makespan = 0;
    // An operation of several ranks begins when the last of them is ready.
    for (std::size_t first = 0; first < order_.size();) {
      std::size_t end = first;
      const Picoseconds instant = marked_.start[order_[first]];
      while (end < order_.size() && marked_.start[order_[end]] == instant) ++end;
      place(std::span(order_).subspan(first, end - first), mark, out);
      first = end;
    }
    for (const Picoseconds end : out.end) out.makespan = std::max(out.makespan, end);
    return out;
  }

 private:
  bool on_device(TaskId task) const {
    const StreamKind stream = program_.streams[program_.stream[task]].kind;
    return stream != StreamKind::host && program_.class_of(task).kind != TaskKind::meeting;
  }

  void find_streams() {
    std::map<std::uint32_t, TaskId> last;
    for (TaskId task = 0; task < program_.size(); ++task) {
      const auto [place, first] = last.try_emplace(program_.stream[task], task);
      if (!first) before_[task] = std::exchange(place->second, task);
    }
  }

  void find_turns() {
    TaskId last = kNone;
    for (const TaskId task : order_) {
      if (program_.streams[program_.stream[task]].kind != StreamKind::compute) continue;
      turn_[task] = std::exchange(last, task);
    }
  }

  // Calls `each` with every task that must have ended.
  template <typename Each>
  void for_each_before(TaskId task, const Each& each) const {
    for (const TaskId before : program_.dependencies_of(task)) each(before);
    if (before_[task] != kNone) each(before_[task]);
    if (turn_[task] != kNone) each(turn_[task]);
  }

  // The instant until which the members of one operation wait for other tasks: with marks, and now.
  struct Waiting {
    Picoseconds marked = 0;
    Picoseconds now = 0;
  };

  // Places tasks that began at one instant, in the order of the program: some may wait for others of no length.
  void place(std::span<const TaskId> tasks, Picoseconds mark, Timeline& out) const {
    std::map<std::uint32_t, Waiting> waiting;
    const auto settle_task = [&](TaskId task) {
      const Waiting& of_all = waiting[groups_.leader[task]];
      const Picoseconds gap = marked_.start[task] - of_all.marked;
      const Picoseconds taken = on_device(task) ? std::min(gap, mark) : 0;
      settle(task, of_all.now + gap - taken, mark - taken, out);
    };
    for (const TaskId task : tasks) {
      Waiting& of_all = waiting[groups_.leader[task]];
      for_each_before(task, [&](TaskId before) {
        of_all.marked = std::max(of_all.marked, std::min(marked_.end[before], marked_.start[task]));
        of_all.now = std::max(of_all.now, out.end[before]);
      });
      settle_task(task);  // what waits for it may stand behind it here
    }
    for (const TaskId task : tasks) settle_task(task);  // all members are known
  }

  void settle(TaskId task, Picoseconds start, Picoseconds left, Timeline& out) const {
    const Picoseconds length = marked_.end[task] - marked_.start[task];
    const Picoseconds less = on_device(task) ? std::min(left, length - length / kTenth) : 0;
    out.start[task] = start;
    out.end[task] = start + length - less;
  }

  const Program& program_;
  const ExecutionGroups& groups_;
  const Timeline& marked_;
  std::vector<TaskId> order_;   // by start
  std::vector<TaskId> before_;  // by task: the one before it in its stream
  std::vector<TaskId> turn_;    // ... the kernel before it on its GPU
};

}  // namespace

Unmarked without_marks(const Program& program, const ExecutionGroups& groups, const Timeline& marked,
                       Picoseconds makespan, bool one_gpu) {
  Unmarked out{marked, 0};
  if (marked.makespan <= makespan) return out;
  const MarkRemoval removal(program, groups, marked, one_gpu);
  Picoseconds low = 0;
  Picoseconds high = marked.makespan;
  while (high - low > 1) {
    const Picoseconds middle = low + (high - low) / 2;
    (removal.without(middle).makespan > makespan ? low : high) = middle;
  }
  out.timeline = removal.without(high);
  out.mark = high;
  return out;
}

}  // namespace mirfak::measure
