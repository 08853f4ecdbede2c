#include "trace/traffic.hpp"

#include "program/job_network.hpp"
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
  double line_rate = 0;  // line rate of the hardware that it uses
};

// Returns the sum of flows as steps.
std::vector<LinkUsePoint> add_up(const std::vector<Flow>& flows, Picoseconds makespan) {
  struct Change {
    Picoseconds time;
    int flows;
    double bytes_per_s;
    double use;
  };
  std::vector<Change> changes;
  for (const Flow& flow : flows) {
    const double share = flow.bytes_per_s / flow.line_rate;
    changes.push_back({flow.start, 1, flow.bytes_per_s, share});
    changes.push_back({flow.end, -1, -flow.bytes_per_s, -share});
  }
  std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) { return a.time < b.time; });
  std::vector<LinkUsePoint> points = {{}};
  int running = 0;
  LinkUsePoint sum;
  for (const Change& change : changes) {
    running += change.flows;
    sum = {change.time, sum.bytes_per_s + change.bytes_per_s, sum.use + change.use};
    if (running == 0) sum = {change.time, 0, 0};  // exactly zero, without rounding errors
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

// Line rates of the hardware that one stage's communication uses.
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
        return of_group(costs.whole_context_group);
      case GroupKind::expert:
        return of_group(costs.expert_group);
      case GroupKind::second_copy:
        return of_group(costs.second_group);
      case GroupKind::node:
        return of_group(costs.node_group);
      case GroupKind::between_nodes:
        return of_group(costs.between_nodes_group);
      case GroupKind::weights:
        return of_group(costs.weights_group);
      case GroupKind::weight_copies:
        return of_group(costs.weight_copies_group);
      case GroupKind::expert_weights:
        return of_group(costs.expert_weights_group);
      case GroupKind::expert_weight_copies:
        return of_group(costs.expert_weight_copies_group);
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
    const NodeHardware& hardware = plan_.costs.hardware->hardware;
    if (group.shape.domains <= 1) {
      return group.inside.ring.over_pcie && hardware.peers ? hardware.peers->bandwidth.value : scale_up_;
    }
    return (group.inside.port_share > 0 ? group.inside.port_share : port_) * group.shape.ranks_per_domain;
  }
  // Returns the other one of the two stages that a group spans.
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
    return of_group(communication_group(job, ends));
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

void shared_links(const Program& program, std::span<const LinkUsage> shared,
                  const std::function<void(const LinkTraffic&)>& take) {
  for (const LinkUsage& usage : shared) {
    take({full_name(program.links[usage.link]), -1, {}, usage.points});
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

std::string full_name(const Link& link) {
  const std::size_t alike = link.stands_for.size();
  return alike < 2 ? link.name : fmt::format("{} ({} links alike)", link.name, alike);
}

void for_each_link(const Simulation& simulation, const StreamIndex& index, std::span<const LinkUsage> shared,
                   const std::function<void(const LinkTraffic&)>& take) {
  shared_links(simulation.program, shared, take);
  for (std::uint32_t rank = 0; rank < simulation.program.ranks.size(); ++rank) {
    for (const StreamId stream : index.streams_of(rank)) {
      const StreamKind kind = simulation.program.streams[stream].kind;
      if (communicates(kind)) stream_traffic(simulation, index.tasks_on(stream), rank, kind, take);
    }
  }
}

}  // namespace mirfak
