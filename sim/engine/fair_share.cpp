#include "engine/fair_share.hpp"

#include "base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

// Max-min fair speeds, kept up to date as tasks start and end.
//
// A start or an end can change the speed of another task only along a chain of links that are, or were, short of
// capacity: a link whose users' demands at full speed sum to no more than it has constrains nobody. So each link keeps
// the sum of its users' demands, and settle() walks from the touched links and tasks through links that may saturate,
// solves the component it finds (max_min.cpp), and leaves the rest of the cluster alone. On a network with capacity
// to spare, starts and ends cost a few additions.
//
// Example: x and y share link A, z and w share link B, both short. When x ends, y is solved anew, z and w keep their
// speeds and their ends. If u uses both A and B, the end of x reaches all of them.
//
// Times. A task keeps the work it had left when its speed last changed, as a double of picoseconds, and its end rounded
// to a whole picosecond. A task whose speed comes out as before is not touched: its end does not drift, and one that
// always ran at speed 1 ends exactly its duration after its start.
//
// The component is solved in the order of its stream numbers, so speeds are a pure function of the set of running tasks
// whatever happened before (tests/engine/fair_share.cpp checks that to the last bit).

namespace mirfak {

namespace {

constexpr std::uint32_t kNobody = std::numeric_limits<std::uint32_t>::max();

}  // namespace

FairShare::FairShare(const Program& program) : running_(program.streams.size()) {
  for (const Link& link : program.links) links_.push_back({link.bytes_per_s, 0, kNobody, 0, 0});
  class_begin_.push_back(0);
  for (const TaskClass& task_class : program.classes) {
    for (const auto& [link, demand] : task_class.demands) {
      if (demand > 0) uses_.push_back({link, demand});
    }
    class_begin_.push_back(static_cast<std::uint32_t>(uses_.size()));
  }
  std::vector<std::uint32_t> max_uses(program.streams.size(), 0);
  for (TaskId task = 0; task < program.size(); ++task) {
    std::uint32_t& most = max_uses[program.stream[task]];
    most = std::max(most, static_cast<std::uint32_t>(uses_of(program.task_class[task]).size()));
  }
  user_begin_.push_back(0);
  for (StreamId stream = 0; stream < program.streams.size(); ++stream) {
    user_begin_.push_back(user_begin_.back() + max_uses[stream]);
    users_.resize(user_begin_.back(), {stream, kNobody, kNobody});
  }
}

std::span<const MaxMinProblem::Use> FairShare::uses_of(ClassId task_class) const {
  return {uses_.data() + class_begin_[task_class], uses_.data() + class_begin_[task_class + 1]};
}

// The margin covers what rounding does to a sum that is kept by adding and subtracting. A link that is taken for
// short and is not costs time, and changes no result.
bool FairShare::may_saturate(const LinkState& link) const { return link.load > link.capacity * (1 - 1e-9); }

void FairShare::start(StreamId stream, ClassId task_class, Picoseconds duration, Picoseconds now) {
  Running& task = running_[stream];
  task.work = static_cast<double>(duration);
  task.speed = 0;
  task.since = now;
  task.end = now + duration;
  task.task_class = task_class;
  join(stream);
  touched_tasks_.push_back(stream);
}

void FairShare::join(StreamId stream) {
  std::uint32_t node = user_begin_[stream];
  for (const auto& [link_id, demand] : uses_of(running_[stream].task_class)) {
    LinkState& link = links_[link_id];
    link.load += demand;
    users_[node].next = link.first_user;
    users_[node].previous = kNobody;
    if (link.first_user != kNobody) users_[link.first_user].previous = node;
    link.first_user = node++;
  }
}

void FairShare::leave(StreamId stream) {
  std::uint32_t node = user_begin_[stream];
  for (const auto& [link_id, demand] : uses_of(running_[stream].task_class)) {
    LinkState& link = links_[link_id];
    if (may_saturate(link)) touched_links_.push_back(link_id);
    const User& user = users_[node++];
    (user.previous == kNobody ? link.first_user : users_[user.previous].next) = user.next;
    if (user.next != kNobody) users_[user.next].previous = user.previous;
    link.load = link.first_user == kNobody ? 0 : link.load - demand;
  }
}

Picoseconds FairShare::first_end() const { return by_end_.empty() ? kNever : running_[by_end_.front()].end; }

StreamId FairShare::finish_first() {
  const StreamId first = by_end_.front();
  const StreamId last = by_end_.back();
  by_end_.pop_back();
  if (!by_end_.empty()) {
    put(0, last);
    sift_down(0);
  }
  leave(first);
  return first;
}

std::size_t FairShare::settle(Picoseconds now) {
  if (touched_tasks_.empty() && touched_links_.empty()) return 0;
  collect_component();
  describe_component();
  const std::span<const double> speeds = solver_.solve(problem_);
  for (std::size_t k = 0; k < component_links_.size(); ++k) {
    links_[component_links_[k]].load = solver_.total_demand()[k];
  }
  std::size_t changes = 0;
  for (std::size_t k = 0; k < tasks_.size(); ++k) {
    const double before = running_[tasks_[k]].speed;
    if (speeds[k] == before && before != 0) continue;
    if (before != 0) ++changes;
    change_speed(tasks_[k], speeds[k], now);
  }
  return changes;
}

void FairShare::collect_component() {
  ++component_;
  tasks_.clear();
  component_links_.clear();
  for (const StreamId stream : touched_tasks_) collect_task(stream);
  for (const LinkId link : touched_links_) collect_link(link);
  touched_tasks_.clear();
  touched_links_.clear();
  std::size_t tasks_done = 0;
  std::size_t links_done = 0;
  while (tasks_done < tasks_.size() || links_done < component_links_.size()) {
    if (tasks_done < tasks_.size()) {
      for (const auto& use : uses_of(running_[tasks_[tasks_done++]].task_class)) {
        if (may_saturate(links_[use.link])) collect_link(use.link);
      }
    } else {
      std::uint32_t node = links_[component_links_[links_done++]].first_user;
      for (; node != kNobody; node = users_[node].next) collect_task(users_[node].stream);
    }
  }
  sort_tasks();
}

// Ascending. When a good part of all streams take part, looking at each stream is cheaper than sorting.
void FairShare::sort_tasks() {
  if (tasks_.size() * 16 < running_.size()) return std::sort(tasks_.begin(), tasks_.end());
  tasks_.clear();
  for (StreamId stream = 0; stream < running_.size(); ++stream) {
    if (running_[stream].component == component_) tasks_.push_back(stream);
  }
}

void FairShare::collect_task(StreamId stream) {
  if (running_[stream].component == component_) return;
  running_[stream].component = component_;
  tasks_.push_back(stream);
}

void FairShare::collect_link(LinkId link) {
  if (links_[link].component == component_) return;
  links_[link].component = component_;
  component_links_.push_back(link);
}

// Links outside the component cannot saturate, and are left out.
void FairShare::describe_component() {
  problem_.clear();
  std::sort(component_links_.begin(), component_links_.end());
  for (std::uint32_t place = 0; place < component_links_.size(); ++place) {
    LinkState& link = links_[component_links_[place]];
    link.place = place;
    problem_.capacity.push_back(link.capacity);
  }
  for (const StreamId stream : tasks_) {
    for (const auto& [link, demand] : uses_of(running_[stream].task_class)) {
      if (links_[link].component == component_) problem_.uses.push_back({links_[link].place, demand});
    }
    problem_.end_task();
  }
}

void FairShare::change_speed(StreamId stream, double speed, Picoseconds now) {
  Running& task = running_[stream];
  const bool starts = task.speed == 0;
  if (!starts) task.work = std::max(0.0, task.work - task.speed * static_cast<double>(now - task.since));
  task.speed = speed;
  task.since = now;
  if (!starts || speed != 1) {
    constexpr double longest_ps = 8.64e18;  // 100 days
    const double lasting = task.work / speed;
    if (!(lasting < longest_ps - static_cast<double>(now))) {
      fail_infeasible({}, fmt::format("a task at {:.3g} of its full speed would not end within 100 days", speed),
                      "the links that it shares have too little bandwidth");
    }
    task.end = now + std::llround(lasting);
  }
  if (starts) {
    by_end_.push_back(stream);
    put(by_end_.size() - 1, stream);
  }
  sift_up(task.place);
  sift_down(task.place);
}

bool FairShare::ends_before(StreamId a, StreamId b) const {
  return running_[a].end != running_[b].end ? running_[a].end < running_[b].end : a < b;
}

void FairShare::put(std::size_t place, StreamId stream) {
  by_end_[place] = stream;
  running_[stream].place = static_cast<std::uint32_t>(place);
}

void FairShare::sift_up(std::size_t place) {
  const StreamId stream = by_end_[place];
  while (place > 0 && ends_before(stream, by_end_[(place - 1) / 2])) {
    put(place, by_end_[(place - 1) / 2]);
    place = (place - 1) / 2;
  }
  put(place, stream);
}

void FairShare::sift_down(std::size_t place) {
  const StreamId stream = by_end_[place];
  while (true) {
    std::size_t child = 2 * place + 1;
    if (child >= by_end_.size()) break;
    if (child + 1 < by_end_.size() && ends_before(by_end_[child + 1], by_end_[child])) ++child;
    if (!ends_before(by_end_[child], stream)) break;
    put(place, by_end_[child]);
    place = child;
  }
  put(place, stream);
}

}  // namespace mirfak
