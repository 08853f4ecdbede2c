#include "engine/event_engine.hpp"

#include "base/cancellation.hpp"
#include "base/error.hpp"
#include "engine/activities.hpp"
#include "engine/fair_share.hpp"
#include "engine/radix_heap.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

// Discrete events. The only event is the end of a task, which releases the next task of its stream and the tasks that
// depend on it. A task that has been released by all it waits for starts at once, for no event that is still to come is
// earlier, and its own end is queued.
//
// The cost of an event is memory access: with a million streams nothing that an event touches is in a cache. So
//  - all that a start needs (the duration, the number of releases still missing, the next task) is one 16-byte node,
//    and the end time overwrites the duration in it;
//  - the event carries the next task of its stream, and its own task only if another task depends on it: a task in the
//    middle of a stream that no other task waits for touches one node, that of its follower;
//  - the queue reports the events that are near, and their nodes are prefetched;
//  - starts are computed from ends in one pass in memory order, after the last event.
// The dependents of all tasks are one array, task after task.
//
// Tasks that use links are not queued themselves, because their ends move: FairShare keeps them, as activities, in the
// order of their ends, and the queue holds an alarm for the first end. If the first end has moved by the time the alarm
// rings, nothing happens. Programs without links have no alarms.

namespace mirfak {

namespace {

constexpr TaskId kNone = std::numeric_limits<TaskId>::max();
constexpr TaskId kAlarm = kNone - 1;

class EventEngine {
 public:
  explicit EventEngine(const Program& program);

  Timeline run();
  Timeline run_sharing_links();

 private:
  struct Node {
    Picoseconds time;       // before the start the duration, then the end
    std::uint32_t waiting;  // 2 x the number of releases it still waits for, + 1 if tasks depend on it
    TaskId next;            // next task on its stream
  };
  struct Event {
    TaskId task;  // kNone if nothing depends on it
    TaskId next;
  };

  void count_dependents();
  Event event_of(TaskId task) const;
  Event pop();
  // Calls start(task) for each task that waits for nothing else.
  template <class Start>
  void open_streams(const Start& start);
  template <class Start>
  void finish(const Event& event, const Start& start);
  template <class Start>
  void release(TaskId task, const Start& start);
  void queue_end(TaskId task);
  Timeline timeline(std::vector<Picoseconds> starts);

  const Program& program_;
  std::vector<Node> nodes_;
  std::vector<TaskId> first_on_stream_;
  std::vector<TaskId> dependents_;
  std::vector<std::uint32_t> first_dependent_;  // index into dependents_, for each task and for one more
  RadixHeap<Event> queue_;
  std::uint64_t ended_ = 0;
  CancellationSteps steps_;
  std::uint64_t changes_of_speed_ = 0;
};

EventEngine::EventEngine(const Program& program)
    : program_(program), nodes_(program.size()), first_on_stream_(program.streams.size(), kNone) {
  constexpr std::size_t most = std::size_t{1} << 31;
  if (program.size() >= most || program.dependencies.size() >= most) {
    fail_internal("the event engine takes fewer than 2^31 tasks and dependencies");
  }
  count_dependents();
  for (auto task = static_cast<TaskId>(program.size()); task-- > 0;) {
    steps_.step();
    const std::span<const TaskId> waits_for = program.dependencies_of(task);
    Node& node = nodes_[task];
    node.time = program.duration[task];
    node.waiting += 2 * static_cast<std::uint32_t>(waits_for.size() + 1);
    node.next = std::exchange(first_on_stream_[program.stream[task]], task);
    for (const TaskId before : waits_for) dependents_[--first_dependent_[before]] = task;
  }
}

// Sets `first_dependent_` of each task to the end of its dependents; writing them backwards makes it their beginning.
void EventEngine::count_dependents() {
  if (program_.dependencies.empty()) return;
  dependents_.resize(program_.dependencies.size());
  first_dependent_.resize(program_.size() + 1);
  for (const TaskId before : program_.dependencies) ++first_dependent_[before];
  std::uint32_t end = 0;
  for (TaskId task = 0; task < program_.size(); ++task) {
    nodes_[task].waiting = first_dependent_[task] > 0 ? 1 : 0;
    first_dependent_[task] = end += first_dependent_[task];
  }
  first_dependent_.back() = end;
}

EventEngine::Event EventEngine::event_of(TaskId task) const {
  const Node& node = nodes_[task];
  return {(node.waiting & 1) != 0 ? task : kNone, node.next};
}

EventEngine::Event EventEngine::pop() {
  const auto soon = [this](const Event& event) {
    if (event.next != kNone) __builtin_prefetch(&nodes_[event.next], 1);
    if (event.task < kAlarm) __builtin_prefetch(&first_dependent_[event.task]);
  };
  return queue_.pop(soon).payload;
}

template <class Start>
void EventEngine::open_streams(const Start& start) {
  for (const TaskId first : first_on_stream_) {
    if (first != kNone) release(first, start);
  }
}

template <class Start>
void EventEngine::finish(const Event& event, const Start& start) {
  ++ended_;
  steps_.step();
  if (event.next != kNone) release(event.next, start);
  if (event.task == kNone) return;
  const std::uint32_t end = first_dependent_[event.task + 1];
  for (std::uint32_t k = first_dependent_[event.task]; k < end; ++k) release(dependents_[k], start);
}

template <class Start>
void EventEngine::release(TaskId task, const Start& start) {
  nodes_[task].waiting -= 2;
  if (nodes_[task].waiting < 2) start(task);
}

void EventEngine::queue_end(TaskId task) {
  nodes_[task].time += queue_.now();
  queue_.push(nodes_[task].time, event_of(task));
}

Timeline EventEngine::run() {
  const auto start = [this](TaskId task) { queue_end(task); };
  open_streams(start);
  while (!queue_.empty()) {
    finish(pop(), start);
  }
  return timeline({});
}

Timeline EventEngine::run_sharing_links() {
  FairShare shares(program_);
  Activities activities(program_);
  std::vector<Picoseconds> starts(program_.size());
  const auto start = [&](TaskId task) {
    starts[task] = queue_.now();
    if (nodes_[task].time == 0 || !activities.uses_links(task)) return queue_end(task);
    if (const auto begun = activities.begin(task)) {
      shares.start(begun->stream, begun->uses, begun->slower, begun->duration, queue_.now());
    }
  };
  std::vector<TaskId> ending;
  const auto finish_first = [&] {
    activities.tasks_of(shares.finish_first(), ending);
    for (const TaskId task : ending) {
      nodes_[task].time = queue_.now();
      finish(event_of(task), start);
    }
  };

  open_streams(start);
  queue_.push(0, {kAlarm, kNone});
  Picoseconds alarm = 0;
  while (!queue_.empty()) {
    const Event event = pop();
    if (event.task != kAlarm) finish(event, start);
    // Speeds are settled after everything else at this instant has happened; settling may bring an end to this instant.
    while (!queue_.next_is_now()) {
      if (shares.first_end() == queue_.now()) {
        finish_first();
      } else {
        const std::uint64_t changes = shares.settle(queue_.now());
        changes_of_speed_ += changes;
        steps_.step(changes);
        if (shares.first_end() != queue_.now()) break;
      }
    }
    if (!queue_.next_is_now() && shares.first_end() != alarm && shares.first_end() != FairShare::kNever) {
      alarm = shares.first_end();
      queue_.push(alarm, {kAlarm, kNone});
    }
  }
  return timeline(std::move(starts));
}

// Returns the timeline. Empty `starts`: no task was slowed down, and each task started its duration before its end.
Timeline EventEngine::timeline(std::vector<Picoseconds> starts) {
  if (ended_ != nodes_.size()) fail_internal("a program with a cycle, or out of order");
  dependents_ = {};  // makes room: a program with all ranks needs gigabytes
  first_dependent_ = {};
  Timeline timeline;
  timeline.events = ended_ + changes_of_speed_;
  timeline.end.resize(nodes_.size());
  const bool slowed_down = !starts.empty();
  timeline.start = std::move(starts);
  timeline.start.resize(nodes_.size());
  for (std::size_t task = 0; task < nodes_.size(); ++task) {
    const Picoseconds end = nodes_[task].time;
    timeline.end[task] = end;
    if (!slowed_down) timeline.start[task] = end - program_.duration[task];
    timeline.makespan = std::max(timeline.makespan, end);
  }
  return timeline;
}

}  // namespace

Timeline execute_events(const Program& program) {
  EventEngine engine(program);
  return program.shares_links() ? engine.run_sharing_links() : engine.run();
}

}  // namespace mirfak
