// A power controller averages over tens of milliseconds: longer than a layer, shorter than an iteration. During that
// time, a stage in the middle of an iteration alternates between forward and backward passes of its layers, so their
// kernels share one clock: large products are slowed down less than in a benchmark that runs nothing else, and
// attention and small products as much as large ones. Whatever the mix, a long run does not exceed the share of the
// tables' clock that long loops of products hold (GpuSpec::sustained_share, measured): a device that has been busy for
// minutes is hot and leaks.
#include "program/settled_clock.hpp"

#include "cost/power_limit.hpp"

#include <algorithm>
#include <map>
#include <numeric>

namespace mirfak {

namespace {

double waiting_draw(const GpuSpec& gpu) { return gpu.blocked_w.value / gpu.tdp_w.value; }

// Adds a kernel; returns the seconds that the device is busy.
double add_kernel(PowerMix& mix, const BodyStep& step, double times) {
  const double seconds = to_seconds(step.device - step.held);
  mix.add_clocked(times * step.clocked_s, step.draw);
  mix.add_memory_bound(times * (seconds - step.clocked_s));
  return seconds;
}

// Adds the kernels of a body; returns the seconds that the device is busy.
double add_kernels(PowerMix& mix, const Body& body, int times) {
  double busy_s = 0;
  for (const BodyStep& step : body.steps) {
    if (step.stream == StreamKind::compute) busy_s += times * add_kernel(mix, step, times);
    mix.add_memory_bound(times * step.copied_s);
    busy_s += times * step.copied_s;
  }
  return busy_s;
}

// Returns the time that kernels of another pass lose while a body's collectives hold multiprocessors.
double lost_to_collectives_s(const Body& body) {
  double out = 0;
  for (const BodyStep& step : body.steps) {
    if (step.stream != StreamKind::compute) out += step.held_share * to_seconds(step.device);
  }
  return out;
}

// Upper bound of the time of a body in a long row of bodies. If the host waits for the device, in this body or another,
// the host may be late in each body.
double longest_s(const FoldedBody& body, bool host_waits) {
  return to_seconds(std::max(host_waits ? body.lead + body.device : body.device, body.host));
}

void add(PowerMix& mix, const Body& body, const FoldedBody& folded, bool host_waits, double draw_of_waiting) {
  const double busy_s = add_kernels(mix, body, 1);
  mix.add_other(longest_s(folded, host_waits) - busy_s, draw_of_waiting);
}

// Times of passes together. A host that is late in one pass catches up in another.
struct Stretch {
  double busy_s = 0;
  double device_s = 0;
  double host_s = 0;
  double longest_s = 0;  // upper bound in any row of bodies, where the host waits for the device inside

  double waiting_s() const { return std::max(0.0, std::max(device_s, host_s) - busy_s); }
  double most_waiting_s() const { return std::max(waiting_s(), longest_s - busy_s); }
};

// Backward in two halves may hide communication that the whole pass waits for.
Picoseconds backward_device(const BlockBodies& bodies, bool halves) {
  const Picoseconds whole = bodies.folded_backward.device;
  if (!halves) return whole;
  return std::min(whole, bodies.folded_backward_input.device + bodies.folded_backward_weight.device);
}

// Adds some steps of a body `times` times, with the longest time that they may wait.
void add_some(PowerMix& mix, const Body& body, const std::vector<bool>& some, double times, double draw_of_waiting) {
  for (std::size_t i = 0; i < some.size(); ++i) {
    if (!some[i]) continue;
    const BodyStep& step = body.steps[i];
    const bool kernel = step.stream == StreamKind::compute;
    if (kernel) add_kernel(mix, step, times);
    mix.add_other(times * to_seconds(step.host + (kernel ? 0 : step.device)), draw_of_waiting);
  }
}

}  // namespace

LayerMix layer_mix(const ShardedBlocks& blocks, std::span<const ChunkPlan> chunks) {
  std::map<BlockId, int> counts;
  for (const ChunkPlan& chunk : chunks) {
    for (const BlockRun& run : chunk.runs) {
      counts[run.block] += blocks.is_end(run.block) ? 0 : run.count;
    }
  }
  int divisor = 0;
  for (const auto& [block, count] : counts) divisor = std::gcd(divisor, count);
  LayerMix mix(counts.begin(), counts.end());
  for (auto& [block, count] : mix) count /= std::max(1, divisor);
  return mix;
}

namespace {

// The backward pass whose length is backward_device().
FoldedBody backward_of(const BlockBodies& bodies, bool halves) {
  if (!halves || backward_device(bodies, halves) == bodies.folded_backward.device) return bodies.folded_backward;
  FoldedBody out = bodies.folded_backward_input;
  append(out, bodies.folded_backward_weight);
  return out;
}

// True if the host waits for the device in any layer of the model.
bool host_waits_in(const Job& job, const ShardedBlocks& blocks) {
  return std::any_of(blocks.all.begin(), blocks.all.end(), [&](const PartitionedBlock& block) {
    const std::vector<Operator>& all = block.graph.operators;
    return std::any_of(all.begin(), all.end(), [&](const Operator& op) { return host_waits_before(job, op); });
  });
}

// Forward and backward passes of consecutive layers.
struct Row {
  FoldedBody forward;
  FoldedBody backward;

  void add(const BlockBodies& layer, bool halves, int count) {
    append(forward, repeated(layer.folded_forward, count));
    append(backward, repeated(backward_of(layer, halves), count));
  }
};

// Host and device delay each other where the host waits for the device inside: in long rows of passes, each pass takes
// the time from device to device or from host to host, whichever is longer. A backward pass follows many layers of a
// forward pass, not one: only at its beginning has the host just waited.
void hold_up(const Row& row, Stretch& out) {
  constexpr int kLayers = 64;
  FoldedBody both = repeated(row.forward, kLayers);
  append(both, repeated(row.backward, kLayers));
  if (!both.host_waits()) return;
  out.device_s = std::max(out.device_s, to_seconds(both.device) / kLayers);
  out.host_s = std::max(out.host_s, to_seconds(both.host) / kLayers);
}

// Adds the kernels to `mix`. The waits depend on the job's schedule, not on the other schedules that `blocks` are
// priced for. If passes run in parallel, one computes while another waits, only more slowly; so it is where ranks take
// turns on a GPU.
Stretch stretch_of(const Job& job, const ShardedBlocks& blocks, const LayerMix& layers, const StageCosts& costs,
                   PowerMix& mix) {
  Stretch out;
  double lost_s = 0;
  Row row;
  const Schedule& schedule = schedule_of(job.strategy.schedule);
  const bool host_waits = host_waits_in(job, blocks);
  bool catches_up = false;
  for (const auto& [block, count] : layers) {
    if (count == 0) catches_up = true;
    if (count == 0) continue;
    const BlockBodies bodies = price_block(job, blocks.of(block), costs, schedule.splits);
    out.busy_s += add_kernels(mix, bodies.forward, count) + add_kernels(mix, bodies.backward, count);
    out.device_s += count * to_seconds(bodies.folded_forward.device + backward_device(bodies, schedule.splits));
    out.host_s += count * to_seconds(bodies.folded_forward.host + bodies.folded_backward.host);
    if (schedule.pairs) {
      lost_s += count * (lost_to_collectives_s(bodies.forward) + lost_to_collectives_s(bodies.backward));
    }
    row.add(bodies, schedule.splits, count);
    if (host_waits) {
      out.longest_s += count * (longest_s(bodies.folded_forward, true) + longest_s(bodies.folded_backward, true));
    }
  }
  if (!schedule.pairs) hold_up(row, out);
  if (catches_up) out.host_s = 0;
  if (schedule.pairs) out.device_s = out.busy_s + lost_s;
  if (job.cluster.shares_gpus()) out.host_s = out.device_s = out.longest_s = out.busy_s;
  return out;
}

// The clock at which devices settle that run some kernels and wait for a time beside them.
double settled_with(PowerMix kernels, double waiting_s, const GpuSpec& gpu) {
  kernels.add_other(waiting_s, waiting_draw(gpu));
  return std::min(kernels.clock_share(), gpu.sustained_share.value);
}

}  // namespace

// The slower the clock, the more communication and host work is hidden by kernels: the waiting time that counts is that
// at the settled clock. This clock is approached from below, so that no step draws more than the limit.
double settled_clock(const Job& job, const ShardedBlocks& blocks, const LayerMix& layers, const StageCosts& costs) {
  const GpuSpec& gpu = costs.hardware->hardware.gpu;
  PowerMix kernels(gpu);
  const double max_wait_s = stretch_of(job, blocks, layers, costs, kernels).waiting_s();
  double share = settled_with(kernels, 0, gpu);
  constexpr int kSteps = 2;
  for (int i = 0; i < kSteps && share < settled_with(kernels, max_wait_s, gpu); ++i) {
    StageCosts slower = costs;
    slower.kernels.set_clock_share(share);
    PowerMix of_slower(gpu);
    const double waiting_s = stretch_of(job, blocks, layers, slower, of_slower).waiting_s();
    share = settled_with(kernels, std::min(max_wait_s, waiting_s), gpu);
  }
  return share;
}

ClockBounds clock_bounds(const Job& job, const ShardedBlocks& blocks, const LayerMix& layers, const StageCosts& costs) {
  const GpuSpec& gpu = costs.hardware->hardware.gpu;
  PowerMix kernels(gpu);
  const Stretch fastest = stretch_of(job, blocks, layers, costs, kernels);
  return {settled_with(kernels, fastest.most_waiting_s(), gpu), settled_with(kernels, 0, gpu)};
}

double highest_settled_clock(const BlockBodies& kept, const GpuSpec& gpu, const RunAgain& again) {
  PowerMix mix(gpu);
  add(mix, kept.forward, kept.folded_forward, again.host_waits, waiting_draw(gpu));
  add(mix, kept.backward, kept.folded_backward, again.host_waits, waiting_draw(gpu));
  add_some(mix, kept.forward, again.steps, again.from, waiting_draw(gpu));
  PowerMix more(gpu);
  add_some(more, kept.forward, again.steps, again.to - again.from, waiting_draw(gpu));
  return std::min(mix.highest_clock_share({&more, 1}), gpu.sustained_share.value);
}

// Nothing waits here. If a share of the layers runs `steps` again, the clock lies between those for none and for all
// layers.
double lowest_settled_clock(const BlockBodies& kept, const GpuSpec& gpu, const std::vector<bool>& steps) {
  PowerMix mix(gpu);
  add_kernels(mix, kept.forward, 1);
  add_kernels(mix, kept.backward, 1);
  const double of_kept = mix.clock_share();
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const BodyStep& step = kept.forward.steps[i];
    if (steps[i] && step.stream == StreamKind::compute) add_kernel(mix, step, 1);
  }
  return std::min({of_kept, mix.clock_share(), gpu.sustained_share.value});
}

}  // namespace mirfak
