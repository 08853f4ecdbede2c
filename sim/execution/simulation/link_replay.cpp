#include "simulation/link_replay.hpp"

#include "base/cancellation.hpp"
#include "engine/activities.hpp"
#include "engine/fair_share.hpp"

#include <algorithm>
#include <queue>
#include <utility>
#include <vector>

namespace mirfak {

namespace {

constexpr double kEquallyShort = 1e-9;  // relative difference of speeds up to which links are equally short

class LinkReplay {
 public:
  LinkReplay(const Program& program, const Timeline& timeline, const std::function<void(const LinkStretch&)>& take)
      : program_(program),
        timeline_(timeline),
        take_(take),
        speeds_(max_min_of(program)),
        activities_(program),
        running_(program.streams.size()) {}

  void run() {
    const std::vector<TaskId> starts = in_order_of_start();
    auto next = starts.begin();
    while (next != starts.end() || !ends_.empty()) {
      const bool ends_first = next == starts.end() || (!ends_.empty() && ends_.top().first <= timeline_.start[*next]);
      const Picoseconds now = ends_first ? ends_.top().first : timeline_.start[*next];
      for (; !ends_.empty() && ends_.top().first == now; ends_.pop()) finish(ends_.top().second, now);
      for (; next != starts.end() && timeline_.start[*next] == now; ++next) start(*next, now);
      speeds_.settle();
      steps_.step(1 + active_.size());
      follow_speeds(now);
    }
  }

 private:
  struct Running {
    std::vector<TaskId> tasks;
    std::span<const LinkUse> uses;
    double slower = 1;
    Picoseconds full_speed = 0;
    double speed = 0;
    std::vector<LinkId> held_by;
    Picoseconds since = 0;
    std::size_t place = 0;  // index into active_
  };
  using End = std::pair<Picoseconds, StreamId>;

  std::vector<TaskId> in_order_of_start() {
    std::vector<TaskId> out;
    CancellationSteps steps;
    for (TaskId task = 0; task < program_.size(); ++task) {
      steps.step();
      if (program_.duration[task] > 0 && activities_.uses_links(task)) out.push_back(task);
    }
    std::stable_sort(out.begin(), out.end(),
                     [&](TaskId a, TaskId b) { return timeline_.start[a] < timeline_.start[b]; });
    return out;
  }

  // Starts the activity of a task. Its tasks end together; in measured times the activity is over for all tasks when it
  // is over for the first.
  void start(TaskId task, Picoseconds now) {
    const auto begun = activities_.begin(task);
    if (!begun) return;
    activities_.tasks_of(begun->stream, tasks_);
    Picoseconds end = timeline_.end[tasks_.front()];
    for (const TaskId each : tasks_) end = std::min(end, timeline_.end[each]);
    if (end <= now) return;
    Running& activity = running_[begun->stream];
    activity.tasks = tasks_;
    activity.uses = begun->uses;
    activity.slower = begun->slower;
    activity.full_speed = begun->duration;
    activity.speed = 0;
    activity.held_by.clear();
    activity.since = now;
    activity.place = active_.size();
    active_.push_back(begun->stream);
    ends_.emplace(end, begun->stream);
    speeds_.add(begun->stream, begun->uses, begun->slower);
  }

  void finish(StreamId stream, Picoseconds now) {
    Running& activity = running_[stream];
    hand_over(activity, now);
    speeds_.remove(stream);
    active_[activity.place] = active_.back();
    running_[active_[activity.place]].place = activity.place;
    active_.pop_back();
  }

  void follow_speeds(Picoseconds now) {
    for (const StreamId stream : active_) {
      Running& activity = running_[stream];
      const double speed = speeds_.speed(stream);
      find_holders(activity, speed);
      if (speed == activity.speed && holders_ == activity.held_by) continue;
      hand_over(activity, now);
      activity.speed = speed;
      activity.held_by = holders_;
      activity.since = now;
    }
  }

  void find_holders(const Running& activity, double speed) {
    holders_.clear();
    if (speed > 1 - kEquallyShort) return;
    for (const LinkUse& use : activity.uses) {
      if (speeds_.level(use.link) <= speed * (1 + kEquallyShort)) holders_.push_back(use.link);
    }
  }

  void hand_over(const Running& activity, Picoseconds now) {
    if (now == activity.since) return;
    take_({activity.tasks, activity.uses, activity.slower, activity.full_speed, activity.speed, activity.held_by,
           activity.since, now});
  }

  const Program& program_;
  const Timeline& timeline_;
  const std::function<void(const LinkStretch&)>& take_;
  MaxMin speeds_;
  Activities activities_;
  std::vector<Running> running_;  // by stream
  std::vector<StreamId> active_;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
  std::vector<TaskId> tasks_;  // buffer of start()
  std::vector<LinkId> holders_;
  CancellationSteps steps_;
};

}  // namespace

void for_each_stretch(const Program& program, const Timeline& timeline,
                      const std::function<void(const LinkStretch&)>& take) {
  if (program.shares_links()) LinkReplay(program, timeline, take).run();
}

}  // namespace mirfak
