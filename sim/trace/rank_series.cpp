#include "trace/rank_series.hpp"

#include "program/sharded_state.hpp"

#include <algorithm>

namespace mirfak {

namespace {

// Steps that fall on the same time are one step: the last.
template <typename Point>
void put(std::vector<Point>& points, Point point) {
  if (!points.empty() && points.back().time == point.time) {
    points.back() = point;
  } else {
    points.push_back(point);
  }
}

template <typename Point>
void close_at(std::vector<Point>& points, Picoseconds end) {
  if (points.back().time == end) return;
  points.push_back(points.back());
  points.back().time = end;
}

}  // namespace

std::vector<MemoryPoint> memory_over_time(const Simulation& simulation, std::span<const BlockMemory> blocks,
                                          const StagePlan& plan, std::span<const PassSpan> spans) {
  const Job& job = job_at(simulation.job, simulation.blocks, plan.stage);
  const ShardedBlocks& own = simulation.blocks.at(plan.stage);
  std::vector<ChunkMemory> chunks;
  for (const ChunkPlan& chunk : plan.chunks) chunks.push_back(chunk_memory(job, blocks, chunk));
  MemoryUse use = resident_memory(job, own, plan);
  std::vector<MemoryPoint> points = {{0, use}};
  const auto of = [&](const Pass& pass) -> const ChunkMemory& { return chunks[static_cast<std::size_t>(pass.chunk)]; };
  const auto end = [&](const Pass& pass) {
    if (makes_input_gradient(pass.kind)) use.activations -= of(pass).kept;
    if (pass.kind == Pass::Kind::backward_input) use.activations += of(pass).due;
    if (pass.kind == Pass::Kind::backward_weight) use.activations -= of(pass).due;
  };
  auto next = plan.order.begin();
  for (std::size_t i = 0; i < spans.size(); ++i) {
    const PassSpan& span = spans[i];
    if (span.kind == TaskKind::optimizer) {
      use.workspace = step_workspace(job, plan);
      put(points, {span.start, use});
      use.workspace = 0;
      put(points, {span.end, use});
      continue;
    }
    // Spans of passes stand in the order of the schedule, but of a pair either may be first. Iterations follow each
    // other.
    if (next == plan.order.end()) next = plan.order.begin();
    const Pass& pass = *next++;
    if (is_forward(pass.kind)) use.activations += of(pass).kept;
    use.workspace = of(pass).workspace(pass.kind);
    if (pass.with_next) use.workspace += of(*next).workspace(next->kind);
    put(points, {span.start, use});
    use.workspace = 0;
    Picoseconds until = span.end;
    if (pass.with_next) {  // what a pair makes leaves when both have ended
      until = std::max(until, spans[++i].end);
      end(*next++);
    }
    end(pass);
    put(points, {until, use});
  }
  close_at(points, simulation.timeline.makespan);
  return points;
}

std::vector<PowerPoint> power_over_time(const Simulation& simulation, const StagePlan& plan,
                                        std::span<const TaskId> compute_tasks) {
  const double blocked_w = plan.costs.hardware->hardware.gpu.blocked_w.value;
  const Timeline& timeline = simulation.timeline;
  std::vector<PowerPoint> points = {{0, blocked_w}};
  for (const TaskId task : compute_tasks) {
    const Picoseconds start = timeline.start[task];
    const Picoseconds end = timeline.end[task];
    if (end == start) continue;
    put(points, {start, blocked_w + simulation.program.class_of(task).energy_j / to_seconds(end - start)});
    put(points, {end, blocked_w});
  }
  close_at(points, timeline.makespan);
  return points;
}

}  // namespace mirfak
