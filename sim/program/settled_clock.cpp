// A power controller averages over tens of milliseconds: longer than a layer, shorter than an iteration. In that time a
// stage in the middle of an iteration runs forward and backward passes of its layers in turns, so their kernels share
// one clock: large products are slowed down less than in a benchmark that runs nothing else, and attention and small
// products as much as they. Whatever the mix, a long run holds no more of the tables' clock than long loops of products
// do (GpuSpec::sustained_share, measured): a device that has been at work for minutes is hot and leaks.
#include "program/settled_clock.hpp"

#include "cost/power_limit.hpp"

#include <algorithm>
#include <map>
#include <numeric>

namespace mirfak {

namespace {

double waiting_draw(const GpuSpec& gpu) { return gpu.blocked_w.value / gpu.tdp_w.value; }

// Returns for how long the device is busy.
double add_kernel(PowerMix& mix, const BodyStep& step, int times) {
  const double seconds = to_seconds(step.device - step.held);
  mix.add_clocked(times * step.clocked_s, step.draw);
  mix.add_other(times * (seconds - step.clocked_s), kMemoryBoundDraw);
  return seconds;
}

void add(PowerMix& mix, const Body& body, const FoldedBody& folded, int times, double draw_of_waiting) {
  double busy_s = 0;
  for (const BodyStep& step : body.steps) {
    if (step.stream == StreamKind::compute) busy_s += add_kernel(mix, step, times);
  }
  const double pass_s = to_seconds(std::max(folded.device, folded.host));
  mix.add_other(times * (pass_s - busy_s), draw_of_waiting);
}

// Some steps of a body, with all that they may wait.
PowerMix mix_of(const Body& body, const std::vector<bool>& some, double draw_of_waiting) {
  PowerMix out;
  for (std::size_t i = 0; i < some.size(); ++i) {
    if (!some[i]) continue;
    const BodyStep& step = body.steps[i];
    const bool kernel = step.stream == StreamKind::compute;
    if (kernel) add_kernel(out, step, 1);
    out.add_other(to_seconds(step.host + (kernel ? 0 : step.device)), draw_of_waiting);
  }
  return out;
}

}  // namespace

LayerMix layer_mix(const ShardedBlocks& blocks, const StageContents& stage) {
  std::map<BlockId, int> counts;
  for (const ChunkPlan& chunk : stage.chunks) {
    for (const BlockRun& run : chunk.runs) {
      if (run.block != ShardedBlocks::kEmbedding && run.block != blocks.head_id()) counts[run.block] += run.count;
    }
  }
  int divisor = 0;
  for (const auto& [block, count] : counts) divisor = std::gcd(divisor, count);
  LayerMix mix(counts.begin(), counts.end());
  for (auto& [block, count] : mix) count /= divisor;
  return mix;
}

double settled_clock(const Job& job, const ShardedBlocks& blocks, const LayerMix& layers, const StageCosts& costs) {
  const GpuSpec& gpu = costs.hardware->hardware.gpu;
  PowerMix mix;
  for (const auto& [block, count] : layers) {
    const BlockBodies bodies = price_block(job, blocks.of(block), costs);
    add(mix, bodies.forward, bodies.folded_forward, count, waiting_draw(gpu));
    add(mix, bodies.backward, bodies.folded_backward, count, waiting_draw(gpu));
  }
  return std::min(mix.clock_share(), gpu.sustained_share.value);
}

double highest_settled_clock(const BlockBodies& kept, const GpuSpec& gpu, const std::vector<bool>& again) {
  PowerMix mix;
  add(mix, kept.forward, kept.folded_forward, 1, waiting_draw(gpu));
  add(mix, kept.backward, kept.folded_backward, 1, waiting_draw(gpu));
  const PowerMix more = mix_of(kept.forward, again, waiting_draw(gpu));
  const double clock = again.empty() ? mix.clock_share() : mix.highest_clock_share({&more, 1});
  return std::min(clock, gpu.sustained_share.value);
}

}  // namespace mirfak
