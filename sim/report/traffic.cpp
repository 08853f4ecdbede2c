#include "report/traffic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace mirfak {

namespace {

struct Flow {
  Picoseconds start = 0;
  Picoseconds end = 0;
  double bytes_per_s = 0;
};

// The sum of flows as steps.
std::vector<TrafficPoint> add_up(const std::vector<Flow>& flows, Picoseconds makespan) {
  struct Change {
    Picoseconds time;
    int flows;
    double bytes_per_s;
  };
  std::vector<Change> changes;
  for (const Flow& flow : flows) {
    changes.push_back({flow.start, 1, flow.bytes_per_s});
    changes.push_back({flow.end, -1, -flow.bytes_per_s});
  }
  std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) { return a.time < b.time; });
  std::vector<TrafficPoint> points = {{0, 0}};
  int running = 0;
  double sum = 0;
  for (const Change& change : changes) {
    running += change.flows;
    sum = running == 0 ? 0 : sum + change.bytes_per_s;  // nothing runs: exactly nothing, whatever was rounded
    if (points.back().time != change.time) points.push_back({change.time, 0});
    points.back().bytes_per_s = sum;
  }
  if (points.back().time != makespan) points.push_back({makespan, sum});
  return points;
}

constexpr std::array kCommunicationStreams = {StreamKind::tensor,        StreamKind::data,
                                              StreamKind::send_forward,  StreamKind::recv_forward,
                                              StreamKind::send_backward, StreamKind::recv_backward};

bool communicates(StreamKind kind) {
  return std::find(kCommunicationStreams.begin(), kCommunicationStreams.end(), kind) != kCommunicationStreams.end();
}

// The stage at the other end of a stage's transfers, across the chunks of an interleaved schedule too.
int other_end(const Job& job, int stage, StreamKind kind) {
  const bool next = kind == StreamKind::send_forward || kind == StreamKind::recv_backward;
  return (stage + (next ? 1 : job.strategy.pipeline - 1)) % job.strategy.pipeline;
}

double line_rate(const Simulation& simulation, const StagePlan& plan, StreamKind kind) {
  const StageCosts& costs = plan.costs;
  const double scale_up = costs.hardware.hardware.scale_up.bandwidth.value;
  const double port = costs.communication.port_share();
  const auto of_group = [&](const CommunicationGroup& group) {
    return group.shape.domains > 1 ? port * group.shape.ranks_per_domain : scale_up;
  };
  if (kind == StreamKind::tensor) return of_group(costs.tensor_group);
  if (kind == StreamKind::data) return of_group(costs.data_group);
  const int other = other_end(simulation.job, plan.stage, kind);
  return transfer_cost(simulation.job, simulation.plans, simulation.blocks, plan.stage, other).on_network ? port
                                                                                                          : scale_up;
}

void shared_links(const Simulation& simulation, const std::function<void(const LinkTraffic&)>& take) {
  const Program& program = simulation.program;
  if (program.links.empty()) return;
  std::vector<std::vector<Flow>> flows(program.links.size());
  for (TaskId task = 0; task < program.size(); ++task) {
    const Picoseconds start = simulation.timeline.start[task];
    const Picoseconds end = simulation.timeline.end[task];
    if (end == start) continue;
    const double speed = static_cast<double>(program.duration[task]) / static_cast<double>(end - start);
    for (const auto& [link, demand] : program.class_of(task).demands)
      flows[link].push_back({start, end, demand * speed});
  }
  for (LinkId link = 0; link < program.links.size(); ++link) {
    const Link& described = program.links[link];
    take({described.name, -1, {}, described.bytes_per_s, add_up(flows[link], simulation.timeline.makespan)});
  }
}

void stream_traffic(const Simulation& simulation, const StreamIndex& index, std::uint32_t rank, StreamId stream,
                    const std::function<void(const LinkTraffic&)>& take) {
  const Program& program = simulation.program;
  const StreamKind kind = program.streams[stream].kind;
  std::vector<Flow> flows;
  for (const TaskId task : index.tasks_on(stream)) {
    const Picoseconds start = simulation.timeline.start[task];
    const Picoseconds end = simulation.timeline.end[task];
    if (end > start) flows.push_back({start, end, program.class_of(task).bytes / to_seconds(end - start)});
  }
  if (flows.empty()) return;
  const StagePlan& plan = simulation.plans[program.ranks[rank].stage];
  take({fmt::format("rank {} {}", program.ranks[rank].rank, name_of(kind)), rank, kind,
        line_rate(simulation, plan, kind), add_up(flows, simulation.timeline.makespan)});
}

}  // namespace

void for_each_link(const Simulation& simulation, const StreamIndex& index,
                   const std::function<void(const LinkTraffic&)>& take) {
  shared_links(simulation, take);
  for (std::uint32_t rank = 0; rank < simulation.program.ranks.size(); ++rank) {
    for (const StreamId stream : index.streams_of(rank)) {
      if (communicates(simulation.program.streams[stream].kind)) stream_traffic(simulation, index, rank, stream, take);
    }
  }
}

}  // namespace mirfak
