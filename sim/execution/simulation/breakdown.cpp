#include "simulation/breakdown.hpp"

#include "base/cancellation.hpp"
#include "base/parallel.hpp"
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
      add_span({start, timeline.end[task]}, communication_[static_cast<std::size_t>(*activity)]);
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
  // Adds a span; one that continues the last becomes a part of it.
  static void add_span(const TimeSpan& span, TimeSpans& to) {
    if (!to.empty() && span.start >= to.back().start && span.start <= to.back().end) {
      to.back().end = std::max(to.back().end, span.end);
    } else {
      to.push_back(span);
    }
  }
  void spend(Activity activity, Picoseconds time) { out_[static_cast<std::size_t>(activity)] += to_seconds(time); }

  ActivitySeconds out_{};
  std::array<TimeSpans, kActivities> communication_;
  TimeSpans host_gaps_;
  TimeSpans other_gaps_;
  Picoseconds free_ = 0;  // when the compute stream has done all so far
};

// The ranks at places [first, last) of those that are asked for.
struct Places {
  std::uint32_t first = 0;
  std::uint32_t last = 0;

  bool contain(std::uint32_t place) const { return place - first < last - first; }  // a place below `first` wraps
};

// Breaks down the time of some ranks. Walks once through all tasks, because there are as many ranks as GPUs if no rank
// stands for others. `of_stream`: the place of each stream's rank.
void break_down(const Program& program, const Timeline& timeline, std::span<const std::uint32_t> of_stream,
                const Places& places, std::span<ActivitySeconds> out) {
  std::vector<RankBreakdown> of_ranks(places.last - places.first);
  HostWaits host(program, timeline);
  CancellationSteps steps;
  for (TaskId task = 0; task < program.size(); ++task) {
    steps.step();
    const std::uint32_t place = of_stream[program.stream[task]];
    if (places.contain(place)) of_ranks[place - places.first].add(program, timeline, task, host);
  }
  for (std::size_t rank = 0; rank < of_ranks.size(); ++rank) {
    check_cancelled();
    out[places.first + rank] = of_ranks[rank].finish(timeline.makespan);
  }
}

}  // namespace

std::vector<ActivitySeconds> breakdown_of(const Program& program, const Timeline& timeline,
                                          std::span<const std::uint32_t> ranks) {
  constexpr auto kNone = static_cast<std::uint32_t>(-1);
  constexpr std::uint32_t kWalks = 4;  // of a large program, next to each other
  constexpr std::size_t kLarge = std::size_t{1} << 20;
  std::vector<std::uint32_t> places(program.ranks.size(), kNone);
  for (std::size_t place = 0; place < ranks.size(); ++place) places[ranks[place]] = static_cast<std::uint32_t>(place);
  std::vector<std::uint32_t> of_stream;
  for (const Stream& stream : program.streams) of_stream.push_back(places[stream.rank]);
  std::vector<ActivitySeconds> out(ranks.size());
  const auto all = static_cast<std::uint32_t>(ranks.size());
  if (program.size() < kLarge || all < kWalks) {
    break_down(program, timeline, of_stream, {0, all}, out);
    return out;
  }
  parallel_for(kWalks, [&](std::size_t walk) {
    const auto from = static_cast<std::uint32_t>(walk);
    const auto border = [all](std::uint32_t number) { return all / kWalks * number + all % kWalks * number / kWalks; };
    break_down(program, timeline, of_stream, {border(from), border(from + 1)}, out);
  });
  return out;
}

}  // namespace mirfak
