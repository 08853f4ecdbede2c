// Conversion of tasks to events. First the graph is written down as it is: an event for the start of every task, for
// clocked tasks a second event for the end, an arc for the task and an arc for each task that waits for it. Then events
// are taken out whose only use is to hand time on:
//
//  - an event that waits for a single arc of fixed length, or that only a single such arc waits for, is replaced by
//    arcs past it (a send after a pass becomes an offset of the arc to the event that waits for the send);
//  - the start of a pass that waits for one event only is merged with that event, and the end of a pass that one event
//    waits for is merged with that event; the fixed time between becomes the offset of the pass's arc;
//  - an arc of fixed length is dropped if a parallel path of a few arcs is as long even at the fastest clocks, and an
//    arc from the source if its head can never happen as early.
//
// None of these steps changes any longest path between events that are left. Host and communication tasks, which are
// most of a lowered program, disappear.

#include "energy/program_network.hpp"

#include <boost/container/small_vector.hpp>

#include <algorithm>
#include <limits>

namespace mirfak {

namespace {

constexpr EventId kGone = std::numeric_limits<EventId>::max();

// Arcs of one event: few.
using Arcs = boost::container::small_vector<std::uint32_t, 4>;

void take_out(Arcs& arcs, std::uint32_t id) { arcs.erase(std::find(arcs.begin(), arcs.end(), id)); }

struct FixedArc {
  EventId tail = 0;
  EventId head = 0;
  Picoseconds length = 0;
};

struct TimedPass {
  TaskId task = 0;
  EventId start = 0;
  EventId end = 0;
  Picoseconds lead = 0;   // time from the event before to its start
  Picoseconds trail = 0;  // time from its end to the event after
};

// Events to look at again, each once, in their order.
class EventSet {
 public:
  void resize(EventId events) { is_in_.assign(events, false); }
  void insert(EventId event) {
    if (is_in_[event]) return;
    is_in_[event] = true;
    events_.push_back(event);
  }
  std::vector<EventId> take() {
    std::vector<EventId> out;
    out.swap(events_);
    std::sort(out.begin(), out.end());
    for (const EventId event : out) is_in_[event] = false;
    return out;
  }

 private:
  std::vector<bool> is_in_;
  std::vector<EventId> events_;
};

class NetworkWriter {
 public:
  explicit NetworkWriter(const ClockedProgram& clocked) : clocked_(clocked) {}

  ProgramNetwork write() {
    add_tasks();
    index();
    while (true) {
      if (const auto events = shape_changed_.take(); !events.empty()) {
        for (const EventId event : events) pass_by(event);
      } else if (const auto others = paths_changed_.take(); !others.empty()) {
        for (const EventId event : others) drop_implied_arcs(event);
      } else {
        break;
      }
    }
    drop_early_arcs();
    return renumbered();
  }

 private:
  EventId new_event() { return events_++; }
  void add_tasks();
  void index();
  void add_fixed(const FixedArc& arc);
  void remove_fixed(std::uint32_t id);
  void touch(EventId event);
  void touch_before(EventId event, int hops);
  void pass_by(EventId event);
  void drop_implied_arcs(EventId event);
  void find_detours(EventId from);
  void bypass(EventId event);
  void merge(EventId event);
  void drop_early_arcs();
  Picoseconds fastest(const TimedPass& pass) const {
    return clocked_.choices_for(pass.task).curve.durations.back() + pass.lead + pass.trail;
  }
  ProgramNetwork renumbered() const;

  const ClockedProgram& clocked_;
  EventId events_ = 0;
  EventId sink_ = 0;
  std::vector<FixedArc> fixed_;  // tail kGone: the arc was taken out
  std::vector<TimedPass> passes_;
  std::vector<Arcs> fixed_into_;
  std::vector<Arcs> fixed_from_;
  std::vector<Arcs> passes_into_;
  std::vector<Arcs> passes_from_;
  EventSet shape_changed_;  // events whose arcs have changed since they were looked at
  EventSet paths_changed_;  // events whose short paths have changed arcs
  struct Reached {
    EventId event = 0;
    Picoseconds length = 0;
  };
  std::vector<Reached> detour_;
  std::vector<Reached> front_;
  std::vector<Reached> next_front_;
  std::vector<std::uint32_t> place_;  // by event, its index in next_front_ if it is there
};

void NetworkWriter::add_tasks() {
  const Program& program = clocked_.program;
  const EventId source = new_event();
  std::vector<EventId> end(program.size());           // event after which tasks that wait for the task may start
  std::vector<Picoseconds> after(program.size(), 0);  // least time from that event to their start
  std::vector<std::int64_t> last(program.streams.size(), -1);
  std::vector<bool> waited_for(program.size(), false);
  for (TaskId task = 0; task < program.size(); ++task) {
    const EventId start = new_event();
    const auto wait_for = [&](TaskId other) {
      fixed_.push_back({end[other], start, after[other]});
      waited_for[other] = true;
    };
    const StreamId stream = program.stream[task];
    for (const TaskId other : program.dependencies_of(task)) wait_for(other);
    if (last[stream] >= 0) wait_for(static_cast<TaskId>(last[stream]));
    if (last[stream] < 0 && program.dependencies_of(task).empty()) fixed_.push_back({source, start, 0});
    last[stream] = task;
    end[task] = start;
    if (clocked_.is_clocked(task)) {
      end[task] = new_event();
      passes_.push_back({task, start, end[task], 0, 0});
    } else {
      after[task] = clocked_.lasts[task];
    }
  }
  sink_ = new_event();
  for (TaskId task = 0; task < program.size(); ++task) {
    if (!waited_for[task]) fixed_.push_back({end[task], sink_, after[task]});
  }
}

// Makes the lists of arcs by event. The lists of source and sink would be long and are never needed.
void NetworkWriter::index() {
  for (auto* lists : {&fixed_into_, &fixed_from_, &passes_into_, &passes_from_}) lists->assign(events_, Arcs());
  place_.assign(events_, 0);
  shape_changed_.resize(events_);
  paths_changed_.resize(events_);
  std::vector<FixedArc> arcs;
  arcs.swap(fixed_);
  for (const FixedArc& arc : arcs) add_fixed(arc);
  for (std::uint32_t i = 0; i < passes_.size(); ++i) {
    passes_from_[passes_[i].start].push_back(i);
    passes_into_[passes_[i].end].push_back(i);
  }
  for (EventId event = 1; event < sink_; ++event) {
    shape_changed_.insert(event);
    paths_changed_.insert(event);
  }
}

// Notes that arcs at an event have changed: it may be superfluous now, and arcs a little before it may be implied by
// other arcs.
void NetworkWriter::touch(EventId event) {
  if (event != 0 && event != sink_) shape_changed_.insert(event);
  touch_before(event, 2);
}

void NetworkWriter::touch_before(EventId event, int hops) {
  if (event == 0 || event == sink_) return;
  paths_changed_.insert(event);
  if (hops == 0) return;
  for (const std::uint32_t id : fixed_into_[event]) touch_before(fixed_[id].tail, hops - 1);
  for (const std::uint32_t id : passes_into_[event]) touch_before(passes_[id].start, hops - 1);
}

// Adds an arc of fixed length; of parallel arcs only the longest counts.
void NetworkWriter::add_fixed(const FixedArc& arc) {
  for (const std::uint32_t other : arc.tail == 0 ? fixed_into_[arc.head] : fixed_from_[arc.tail]) {
    if (fixed_[other].tail != arc.tail || fixed_[other].head != arc.head) continue;
    fixed_[other].length = std::max(fixed_[other].length, arc.length);
    touch(arc.tail);
    return;
  }
  const auto id = static_cast<std::uint32_t>(fixed_.size());
  fixed_.push_back(arc);
  if (arc.tail != 0) fixed_from_[arc.tail].push_back(id);
  if (arc.head != sink_) fixed_into_[arc.head].push_back(id);
  touch(arc.tail);
  touch(arc.head);
}

void NetworkWriter::remove_fixed(std::uint32_t id) {
  FixedArc& arc = fixed_[id];
  if (arc.tail != 0) take_out(fixed_from_[arc.tail], id);
  if (arc.head != sink_) take_out(fixed_into_[arc.head], id);
  touch(arc.tail);
  touch(arc.head);
  arc.tail = kGone;
}

// Finds the longest paths from an event over two to kHops arcs at the fastest clocks, into detour_.
void NetworkWriter::find_detours(EventId from) {
  constexpr int kHops = 5;
  EventId last = 0;  // no detour goes beyond the last head: events are in a topological order
  for (const std::uint32_t id : fixed_from_[from]) last = std::max(last, fixed_[id].head);
  detour_.clear();
  front_.assign(1, {from, 0});
  for (int hop = 1; hop <= kHops; ++hop) {
    next_front_.clear();
    const auto reach = [&](EventId event, Picoseconds length) {
      if (event > last) return;
      const std::uint32_t place = place_[event];
      if (place < next_front_.size() && next_front_[place].event == event) {
        next_front_[place].length = std::max(next_front_[place].length, length);
      } else {
        place_[event] = static_cast<std::uint32_t>(next_front_.size());
        next_front_.push_back({event, length});
      }
    };
    for (const Reached& at : front_) {
      for (const std::uint32_t id : fixed_from_[at.event]) reach(fixed_[id].head, at.length + fixed_[id].length);
      for (const std::uint32_t id : passes_from_[at.event]) reach(passes_[id].end, at.length + fastest(passes_[id]));
    }
    if (hop > 1) detour_.insert(detour_.end(), next_front_.begin(), next_front_.end());
    front_.swap(next_front_);
  }
}

void NetworkWriter::drop_implied_arcs(EventId event) {
  if (fixed_from_[event].empty() || fixed_from_[event].size() + passes_from_[event].size() < 2) return;
  find_detours(event);
  const Arcs from = fixed_from_[event];
  for (const std::uint32_t id : from) {
    const bool implied = std::any_of(detour_.begin(), detour_.end(), [&](const Reached& reached) {
      return reached.event == fixed_[id].head && reached.length >= fixed_[id].length;
    });
    if (implied) remove_fixed(id);
  }
}

// Takes an event out if it only hands time on.
void NetworkWriter::pass_by(EventId event) {
  const std::size_t in = fixed_into_[event].size();
  const std::size_t out = fixed_from_[event].size();
  if (in + out == 0) return;
  if (!passes_from_[event].empty() || !passes_into_[event].empty()) {
    merge(event);
  } else if (in == 1 || out == 1) {
    bypass(event);
  }
}

// Replaces an event between fixed arcs by arcs past it.
void NetworkWriter::bypass(EventId event) {
  const Arcs into = fixed_into_[event];
  const Arcs from = fixed_from_[event];
  for (const std::uint32_t i : into) {
    for (const std::uint32_t o : from) {
      add_fixed({fixed_[i].tail, fixed_[o].head, fixed_[i].length + fixed_[o].length});
    }
  }
  for (const std::uint32_t id : into) remove_fixed(id);
  for (const std::uint32_t id : from) remove_fixed(id);
}

// Merges the start of a pass with the one event that it waits for, or the end with the one event that waits for it.
void NetworkWriter::merge(EventId event) {
  const bool only_starts = passes_into_[event].empty() && fixed_from_[event].empty() && fixed_into_[event].size() == 1;
  const bool only_ends = passes_from_[event].empty() && fixed_into_[event].empty() && fixed_from_[event].size() == 1;
  if (!only_starts && !only_ends) return;
  const std::uint32_t id = only_starts ? fixed_into_[event].front() : fixed_from_[event].front();
  const FixedArc arc = fixed_[id];
  Arcs moved;
  moved.swap(only_starts ? passes_from_[event] : passes_into_[event]);
  for (const std::uint32_t pass : moved) {
    (only_starts ? passes_[pass].start : passes_[pass].end) = only_starts ? arc.tail : arc.head;
    (only_starts ? passes_[pass].lead : passes_[pass].trail) += arc.length;
    (only_starts ? passes_from_[arc.tail] : passes_into_[arc.head]).push_back(pass);
  }
  remove_fixed(id);
}

// Drops arcs from the source that never decide when their head happens: another path takes longer even at the fastest
// clocks. Events are numbered in a topological order.
void NetworkWriter::drop_early_arcs() {
  std::vector<Picoseconds> earliest(events_, 0);  // without the arc from the source
  for (EventId event = 1; event < events_; ++event) {
    Picoseconds others = -1;
    for (const std::uint32_t id : fixed_into_[event]) {
      const FixedArc& arc = fixed_[id];
      if (arc.tail != 0) others = std::max(others, earliest[arc.tail] + arc.length);
    }
    for (const std::uint32_t id : passes_into_[event]) {
      others = std::max(others, earliest[passes_[id].start] + fastest(passes_[id]));
    }
    earliest[event] = std::max<Picoseconds>(others, 0);
    for (const std::uint32_t id : fixed_into_[event]) {
      FixedArc& arc = fixed_[id];
      if (arc.tail != 0) continue;
      earliest[event] = std::max(earliest[event], arc.length);
      if (arc.length <= others) arc.tail = kGone;
    }
  }
}

ProgramNetwork NetworkWriter::renumbered() const {
  std::vector<bool> used(events_, false);
  used[0] = used[sink_] = true;
  for (const FixedArc& arc : fixed_) {
    if (arc.tail != kGone) used[arc.tail] = used[arc.head] = true;
  }
  for (const TimedPass& pass : passes_) used[pass.start] = used[pass.end] = true;
  ProgramNetwork out;
  std::vector<EventId> number(events_, kGone);
  for (EventId event = 0; event < events_; ++event) {
    if (used[event]) number[event] = out.network.events++;
  }
  out.network.curves.push_back({{0}, {}});
  for (const PassChoices& choices : clocked_.choices) out.network.curves.push_back(choices.curve);
  out.network.arcs.reserve(passes_.size() + fixed_.size());
  for (const TimedPass& pass : passes_) {
    const auto curve = static_cast<CurveId>(1 + clocked_.kind_of(pass.task));
    out.network.arcs.push_back({number[pass.start], number[pass.end], curve, pass.lead + pass.trail});
    out.activities.push_back({pass.task, number[pass.end], pass.trail});
  }
  for (const FixedArc& arc : fixed_) {
    if (arc.tail == kGone) continue;
    out.network.arcs.push_back({number[arc.tail], number[arc.head], ActivityNetwork::kNoActivity, arc.length});
  }
  return out;
}

}  // namespace

std::vector<Picoseconds> ProgramNetwork::latest_ends(std::span<const Picoseconds> event_times) const {
  std::vector<Picoseconds> out;
  out.reserve(activities.size());
  for (const Activity& activity : activities) out.push_back(event_times[activity.end] - activity.end_offset);
  return out;
}

ProgramNetwork network_of(const ClockedProgram& clocked) { return NetworkWriter(clocked).write(); }

}  // namespace mirfak
