#include "trace/rank_series.hpp"

#include "program/sharded_state.hpp"

#include <algorithm>
#include <numeric>

namespace mirfak {

namespace {

// Adds a point; of several points at one time the last counts.
template <typename Point>
void put(std::vector<Point>& points, Point point) {
  if (!points.empty() && points.back().time == point.time) {
    points.back() = point;
  } else {
    points.push_back(point);
  }
}

double MemoryUse::*part_of(MemoryEvent::Part part) {
  switch (part) {
    case MemoryEvent::Part::workspace:
      return &MemoryUse::workspace;
    case MemoryEvent::Part::gathered:
      return &MemoryUse::gathered;
    case MemoryEvent::Part::gradients:
      return &MemoryUse::gradients;
    case MemoryEvent::Part::kept:
    case MemoryEvent::Part::released:
    case MemoryEvent::Part::due:
      break;
  }
  return &MemoryUse::activations;
}

template <typename Point>
void close_at(std::vector<Point>& points, Picoseconds end) {
  if (points.back().time == end) return;
  points.push_back(points.back());
  points.back().time = end;
}

}  // namespace

RankMemory rank_memory(const Simulation& simulation, std::span<const BlockMemory> blocks, const StagePlan& plan,
                       std::span<const PassSpan> spans) {
  using Part = MemoryEvent::Part;
  const Job& job = job_at(simulation.job, simulation.blocks, plan.stage);
  const ShardedBlocks& own = simulation.blocks.at(plan.stage);
  std::vector<ChunkMemory> chunks;
  for (const ChunkPlan& chunk : plan.chunks) {
    chunks.push_back(chunk_memory(job, blocks, chunk, plan.parameters.gathered_bytes_per_element));
  }
  RankMemory out;
  out.resident = memory_at_rest(resident_memory(job, own, plan), chunks);
  out.resident.activations += job.strategy.expert_stash * most_stashed(chunks, plan.order);
  const auto put_event = [&](Picoseconds time, Part part, double bytes, const PassSpan& span) {
    if (bytes == 0) return;
    out.events.push_back({time, part, bytes, span.kind, span.chunk, span.microbatch});
  };
  const auto of = [&](const Pass& pass) -> const ChunkMemory& { return chunks[static_cast<std::size_t>(pass.chunk)]; };
  // Each pass holds the memory of its fullest moment for its whole time.
  const auto begin = [&](const Pass& pass, Picoseconds time, const PassSpan& span) {
    const PassMemory& needs = of(pass).of(pass.kind);
    put_event(time, Part::workspace, std::max(0.0, needs.workspace), span);
    put_event(time, Part::released, std::min(0.0, needs.workspace), span);
    put_event(time, Part::gathered, needs.gathered, span);
    if (pass.kind == Pass::Kind::backward) put_event(time, Part::gradients, of(pass).made(), span);
  };
  const auto end = [&](const Pass& pass, Picoseconds time, const PassSpan& span) {
    const PassMemory& needs = of(pass).of(pass.kind);
    put_event(time, Part::workspace, -std::max(0.0, needs.workspace), span);
    put_event(time, Part::gathered, -needs.gathered, span);
    if (makes_input_gradient(pass.kind)) put_event(time, Part::kept, -of(pass).kept, span);
    put_event(time, Part::released, -std::min(0.0, needs.workspace), span);
    if (pass.kind == Pass::Kind::backward_input) put_event(time, Part::due, of(pass).due, span);
    if (pass.kind == Pass::Kind::backward_weight) put_event(time, Part::due, -of(pass).due, span);
    if (pass.kind == Pass::Kind::backward) {
      put_event(time, Part::gradients, of(pass).gradients - of(pass).made(), span);
    }
  };
  const double gradients = std::accumulate(chunks.begin(), chunks.end(), 0.0,
                                           [](double sum, const ChunkMemory& chunk) { return sum + chunk.gradients; });
  auto next = plan.order.begin();
  for (std::size_t i = 0; i < spans.size(); ++i) {
    const PassSpan& span = spans[i];
    if (span.kind == TaskKind::optimizer) {
      const double workspace = step_workspace(job, plan);
      put_event(span.start, Part::workspace, workspace, span);
      put_event(span.end, Part::workspace, -workspace, span);
      put_event(span.end, Part::gradients, -gradients, span);
      continue;
    }
    // Spans of passes come in the order of the schedule, but either pass of a pair may come first. The schedule is
    // repeated for each iteration.
    if (next == plan.order.end()) next = plan.order.begin();
    const Pass& pass = *next++;
    const PassSpan& beside = pass.with_next ? spans[++i] : span;
    const bool swapped = pass.with_next && is_forward(pass.kind) != (span.kind == TaskKind::forward);
    const PassSpan& own_span = swapped ? beside : span;
    if (is_forward(pass.kind)) put_event(span.start, Part::kept, of(pass).kept, own_span);
    begin(pass, span.start, own_span);
    if (pass.with_next) begin(*next, span.start, swapped ? span : beside);
    const Picoseconds until = std::max(span.end, beside.end);  // memory of a pair is freed when both passes have ended
    if (pass.with_next) end(*next++, until, swapped ? span : beside);
    end(pass, until, own_span);
  }
  return out;
}

void for_each_memory(const Simulation& simulation, const StreamIndex& index,
                     const std::function<void(std::uint32_t, const RankMemory&)>& visit) {
  const Program& program = simulation.program;
  int stage = -1;
  std::vector<BlockMemory> blocks;  // blocks of the current stage
  for (std::uint32_t rank = 0; rank < program.ranks.size(); ++rank) {
    const StagePlan& plan = simulation.plans[program.ranks[rank].plan];
    if (plan.stage != stage && (stage < 0 || !simulation.blocks.stages.empty())) {
      blocks =
          memory_of_blocks(job_at(simulation.job, simulation.blocks, plan.stage), simulation.blocks.at(plan.stage));
      stage = plan.stage;
    }
    const auto spans = pass_spans(program, simulation.timeline, index.compute_tasks_of(rank));
    visit(rank, rank_memory(simulation, blocks, plan, spans));
  }
}

std::vector<MemoryPoint> memory_over_time(const RankMemory& rank, Picoseconds end) {
  MemoryUse use = rank.resident;
  std::vector<MemoryPoint> points = {{0, use}};
  for (const MemoryEvent& event : rank.events) {
    use.*part_of(event.part) += event.bytes;
    put(points, {event.time, use});
  }
  close_at(points, end);
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
