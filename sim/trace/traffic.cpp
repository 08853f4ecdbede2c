#include "trace/traffic.hpp"

#include "engine/activities.hpp"
#include "engine/fair_share.hpp"
#include "program/transfer_cost.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

namespace mirfak {

namespace {

struct Flow {
  Picoseconds start = 0;
  Picoseconds end = 0;
  double bytes_per_s = 0;
  double line_rate = 0;  // of what it takes
};

// The sum of flows as steps.
std::vector<TrafficPoint> add_up(const std::vector<Flow>& flows, Picoseconds makespan) {
  struct Change {
    Picoseconds time;
    int flows;
    double bytes_per_s;
    double utilisation;
  };
  std::vector<Change> changes;
  for (const Flow& flow : flows) {
    const double share = flow.bytes_per_s / flow.line_rate;
    changes.push_back({flow.start, 1, flow.bytes_per_s, share});
    changes.push_back({flow.end, -1, -flow.bytes_per_s, -share});
  }
  std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) { return a.time < b.time; });
  std::vector<TrafficPoint> points = {{}};
  int running = 0;
  TrafficPoint sum;
  for (const Change& change : changes) {
    running += change.flows;
    sum = {change.time, sum.bytes_per_s + change.bytes_per_s, sum.utilisation + change.utilisation};
    if (running == 0) sum = {change.time, 0, 0};  // exactly nothing, whatever was rounded
    if (points.back().time != change.time) points.emplace_back();
    points.back() = sum;
  }
  sum.time = makespan;
  if (points.back().time != makespan) points.push_back(sum);
  return points;
}

constexpr std::array kCommunicationStreams = {
    StreamKind::tensor,       StreamKind::context,      StreamKind::expert,        StreamKind::data,
    StreamKind::send_forward, StreamKind::recv_forward, StreamKind::send_backward, StreamKind::recv_backward};

bool communicates(StreamKind kind) {
  return std::find(kCommunicationStreams.begin(), kCommunicationStreams.end(), kind) != kCommunicationStreams.end();
}

// Line rates of what one stage's communication takes.
class LineRates {
 public:
  LineRates(const Simulation& simulation, const StagePlan& plan)
      : simulation_(simulation),
        plan_(plan),
        scale_up_(plan.costs.hardware->hardware.scale_up.bandwidth.value),
        port_(plan.costs.communication.port_share()) {}

  double of(TaskId task) const {
    const StageCosts& costs = plan_.costs;
    const GroupId id = simulation_.program.group_of(task);
    if (id == kNoGroup) return scale_up_;
    const Group& group = simulation_.program.groups[id];
    switch (group.kind) {
      case GroupKind::tensor:
        return of_group(costs.tensor_group);
      case GroupKind::context:
        return of_group(costs.context_group);
      case GroupKind::expert:
        return of_group(costs.expert_group);
      case GroupKind::transfer:
        return of_transfer(other_end(group, task));
      case GroupKind::tied_embedding:
      case GroupKind::part:
        return between_stages(other_end(group, task));
      default:
        return of_group(costs.data_group);
    }
  }

 private:
  double of_group(const CommunicationGroup& group) const {
    return group.shape.domains > 1 ? port_ * group.shape.ranks_per_domain : scale_up_;
  }
  // The other stage of two that a group is of.
  int other_end(const Group& group, TaskId task) const {
    const std::vector<ProgramRank>& ranks = simulation_.program.ranks;
    const std::uint32_t own = ranks[simulation_.program.rank_of(task)].stage;
    const auto other = std::find_if(group.ranks.begin(), group.ranks.end(),
                                    [&](std::uint32_t rank) { return ranks[rank].stage != own; });
    return static_cast<int>(ranks[*other].stage);
  }
  double between_stages(int other) const {
    const Job& job = simulation_.job;
    const int replica = plan_.replicas.first();
    const std::array<int, 2> ends = {job.rank_of(plan_.stage, replica, 0), job.rank_of(other, replica, 0)};
    return of_group(communication_group(job.cluster, ends));
  }
  double of_transfer(int other) const {
    const auto cost = transfer_cost(simulation_.job, simulation_.plans, simulation_.blocks,
                                    {plan_.stage, other, plan_.replica_class, plan_.chunks.front().leaving});
    return cost.on_network ? port_ : scale_up_;
  }

  const Simulation& simulation_;
  const StagePlan& plan_;
  double scale_up_;
  double port_;
};

// Runs what uses shared links again, at the times that the engine found, to know the speeds in between.
class SharedLinkReplay {
 public:
  SharedLinkReplay(const Program& program, const Timeline& timeline)
      : program_(program),
        timeline_(timeline),
        shares_(program),
        activities_(program),
        running_(program.streams.size()),
        flows_(program.links.size()) {}

  // Of each link.
  std::vector<std::vector<Flow>> run() {
    const std::vector<TaskId> starts = in_order_of_start();
    auto next = starts.begin();
    while (next != starts.end() || shares_.first_end() != FairShare::kNever) {
      const Picoseconds starting = next == starts.end() ? FairShare::kNever : timeline_.start[*next];
      const Picoseconds now = std::min(starting, shares_.first_end());
      while (shares_.first_end() == now) finish(shares_.finish_first(), now);
      for (; next != starts.end() && timeline_.start[*next] == now; ++next) start(*next, now);
      shares_.settle(now);
      follow_speeds(now);
    }
    return std::move(flows_);
  }

 private:
  struct Running {
    std::span<const LinkUse> uses;
    double slower = 1;
    double speed = 0;
    Picoseconds since = 0;
    std::size_t place = 0;  // in active_
  };

  std::vector<TaskId> in_order_of_start() const {
    std::vector<TaskId> out;
    for (TaskId task = 0; task < program_.size(); ++task) {
      if (program_.duration[task] > 0 && activities_.uses_links(task)) out.push_back(task);
    }
    std::stable_sort(out.begin(), out.end(),
                     [&](TaskId a, TaskId b) { return timeline_.start[a] < timeline_.start[b]; });
    return out;
  }

  void start(TaskId task, Picoseconds now) {
    const auto begun = activities_.begin(task);
    if (!begun) return;
    shares_.start(begun->stream, begun->uses, begun->slower, begun->duration, now);
    running_[begun->stream] = {begun->uses, begun->slower, 0, now, active_.size()};
    active_.push_back(begun->stream);
  }

  void finish(StreamId stream, Picoseconds now) {
    change_speed(stream, 0, now);
    const std::size_t place = running_[stream].place;
    active_[place] = active_.back();
    running_[active_[place]].place = place;
    active_.pop_back();
  }

  void follow_speeds(Picoseconds now) {
    for (const StreamId stream : active_) {
      if (shares_.speed(stream) != running_[stream].speed) change_speed(stream, shares_.speed(stream), now);
    }
  }

  void change_speed(StreamId stream, double speed, Picoseconds now) {
    Running& activity = running_[stream];
    if (now > activity.since) {
      for (const auto& [link, demand] : activity.uses) {
        flows_[link].push_back(
            {activity.since, now, demand / activity.slower * activity.speed, program_.links[link].bytes_per_s});
      }
    }
    activity.speed = speed;
    activity.since = now;
  }

  const Program& program_;
  const Timeline& timeline_;
  FairShare shares_;
  Activities activities_;
  std::vector<Running> running_;  // by stream
  std::vector<StreamId> active_;
  std::vector<std::vector<Flow>> flows_;
};

void shared_links(const Simulation& simulation, const std::function<void(const LinkTraffic&)>& take) {
  const Program& program = simulation.program;
  if (!program.shares_links()) return;
  const auto flows = SharedLinkReplay(program, simulation.timeline).run();
  for (LinkId link = 0; link < program.links.size(); ++link) {
    take({program.links[link].name, -1, {}, add_up(flows[link], simulation.timeline.makespan)});
  }
}

void stream_traffic(const Simulation& simulation, std::span<const TaskId> tasks, std::uint32_t rank, StreamKind kind,
                    const std::function<void(const LinkTraffic&)>& take) {
  const Program& program = simulation.program;
  const LineRates rates(simulation, simulation.plans[program.ranks[rank].plan]);
  std::map<ClassId, double> rate_of_class;
  std::vector<Flow> flows;
  for (const TaskId task : tasks) {
    const Picoseconds start = simulation.timeline.start[task];
    const Picoseconds end = simulation.timeline.end[task];
    if (end == start) continue;
    const TaskClass& described = program.class_of(task);
    const auto [rate, first] = rate_of_class.try_emplace(program.task_class[task]);
    if (first) rate->second = rates.of(task);
    flows.push_back({start, end, described.bytes / to_seconds(end - start), rate->second});
  }
  if (flows.empty()) return;
  take({fmt::format("rank {} {}", program.ranks[rank].rank, name_of(kind)), rank, kind,
        add_up(flows, simulation.timeline.makespan)});
}

}  // namespace

void for_each_link(const Simulation& simulation, const StreamIndex& index,
                   const std::function<void(const LinkTraffic&)>& take) {
  shared_links(simulation, take);
  for (std::uint32_t rank = 0; rank < simulation.program.ranks.size(); ++rank) {
    for (const StreamId stream : index.streams_of(rank)) {
      const StreamKind kind = simulation.program.streams[stream].kind;
      if (communicates(kind)) stream_traffic(simulation, index.tasks_on(stream), rank, kind, take);
    }
  }
}

}  // namespace mirfak
