#include "simulation/breakdown.hpp"

#include "base/cancellation.hpp"
#include "engine/time_spans.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>
#include <vector>

namespace mirfak {

namespace {

std::optional<Activity> communication_of(StreamKind kind) {
  switch (kind) {
    case StreamKind::tensor:
      return Activity::tensor_communication;
    case StreamKind::context:
      return Activity::context_communication;
    case StreamKind::expert:
      return Activity::expert_communication;
    case StreamKind::data:
      return Activity::data_communication;
    case StreamKind::send_forward:
    case StreamKind::recv_forward:
    case StreamKind::send_backward:
    case StreamKind::recv_backward:
      return Activity::pipeline_communication;
    default:
      return std::nullopt;
  }
}

// Finds the tasks for which the device waited for the host. The answer for a meeting holds for all tasks that start
// when the meeting is over; it is found once, as all ranks may meet in one.
class HostWaits {
 public:
  HostWaits(const Program& program, const Timeline& timeline) : program_(program), timeline_(timeline) {}

  // Returns the time at which the host began to issue `task`, if the device then waited for that: the task started when
  // an issue ended, its own or that of a rank it meets.
  std::optional<Picoseconds> since(TaskId task, Picoseconds start) {
    for (const TaskId before : program_.dependencies_of(task)) {
      if (timeline_.end[before] != start) continue;
      const TaskKind kind = program_.class_of(before).kind;
      if (kind == TaskKind::issue) return timeline_.start[before];
      if (kind != TaskKind::meeting) continue;
      if (const auto since = of_meeting(before)) return since;
    }
    return std::nullopt;
  }

 private:
  std::optional<Picoseconds> of_meeting(TaskId meeting) {
    const auto known = of_meetings_.find(meeting);
    if (known != of_meetings_.end()) return known->second;
    const auto found = since(meeting, timeline_.end[meeting]);
    of_meetings_.emplace(meeting, found);
    return found;
  }

  const Program& program_;
  const Timeline& timeline_;
  std::unordered_map<TaskId, std::optional<Picoseconds>> of_meetings_;
};

// Divides the time of a task on the compute stream as its class does, in proportion if it took another time than the
// program's duration, as measured tasks do.
void add_parts(const Program& program, const Timeline& timeline, TaskId task, ActivitySeconds& out) {
  const ActivitySeconds& parts = program.class_of(task).activity_s;
  const Picoseconds expected = program.duration[task];
  const Picoseconds lasted = timeline.end[task] - timeline.start[task];
  if (expected == 0 && lasted > 0) {
    out[static_cast<std::size_t>(Activity::memory_bound)] += to_seconds(lasted);
    return;
  }
  const double stretch = lasted == expected ? 1 : static_cast<double>(lasted) / static_cast<double>(expected);
  for (std::size_t i = 0; i < kActivities; ++i) out[i] += stretch * parts[i];
}

// Breakdown of one rank, whose tasks are added in program order.
class RankBreakdown {
 public:
  void add(const Program& program, const Timeline& timeline, TaskId task, HostWaits& host) {
    const Picoseconds start = timeline.start[task];
    const StreamKind kind = program.streams[program.stream[task]].kind;
    if (const auto activity = communication_of(kind)) {
      communication_[static_cast<std::size_t>(*activity)].push_back({start, timeline.end[task]});
    }
    if (kind != StreamKind::compute) return;
    add_parts(program, timeline, task, out_);
    if (start > free_) {
      const Picoseconds host_since = std::max(free_, host.since(task, start).value_or(start));
      if (host_since > free_) other_gaps_.push_back({free_, host_since});
      if (start > host_since) host_gaps_.push_back({host_since, start});
    }
    free_ = timeline.end[task];
  }

  ActivitySeconds finish(Picoseconds makespan) {
    if (makespan > free_) other_gaps_.push_back({free_, makespan});
    for (const Activity activity :
         {Activity::tensor_communication, Activity::context_communication, Activity::expert_communication,
          Activity::pipeline_communication, Activity::data_communication}) {
      const TimeSpans busy = joined(std::move(communication_[static_cast<std::size_t>(activity)]));
      spend(activity, cut(host_gaps_, busy) + cut(other_gaps_, busy));
    }
    for (const TimeSpan& gap : host_gaps_) spend(Activity::host, gap.length());
    for (const TimeSpan& gap : other_gaps_) spend(Activity::bubble, gap.length());
    return out_;
  }

 private:
  void spend(Activity activity, Picoseconds time) { out_[static_cast<std::size_t>(activity)] += to_seconds(time); }

  ActivitySeconds out_{};
  std::array<TimeSpans, kActivities> communication_;
  TimeSpans host_gaps_;
  TimeSpans other_gaps_;
  Picoseconds free_ = 0;  // when the compute stream has done all so far
};

}  // namespace

// Walks once through the tasks, because there are as many ranks as GPUs if no rank stands for others.
std::vector<ActivitySeconds> breakdown_of(const Program& program, const Timeline& timeline,
                                          std::span<const std::uint32_t> ranks) {
  constexpr auto kNone = static_cast<std::uint32_t>(-1);
  std::vector<std::uint32_t> places(program.ranks.size(), kNone);
  for (std::size_t place = 0; place < ranks.size(); ++place) places[ranks[place]] = static_cast<std::uint32_t>(place);
  std::vector<std::uint32_t> of_stream;
  for (const Stream& stream : program.streams) of_stream.push_back(places[stream.rank]);
  std::vector<RankBreakdown> of_ranks(ranks.size());
  HostWaits host(program, timeline);
  CancellationSteps steps;
  for (TaskId task = 0; task < program.size(); ++task) {
    steps.step();
    const std::uint32_t place = of_stream[program.stream[task]];
    if (place != kNone) of_ranks[place].add(program, timeline, task, host);
  }
  std::vector<ActivitySeconds> out;
  for (RankBreakdown& of_rank : of_ranks) {
    check_cancelled();
    out.push_back(of_rank.finish(timeline.makespan));
  }
  return out;
}

}  // namespace mirfak
