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

void add(PowerMix& mix, const Body& body, const FoldedBody& folded, int times, double waiting_draw) {
  double busy_s = 0;
  for (const BodyStep& step : body.steps) {
    if (step.stream != StreamKind::compute) continue;
    const double seconds = to_seconds(step.device - step.held);
    busy_s += seconds;
    mix.add_clocked(times * step.clocked_s, step.draw);
    mix.add_other(times * (seconds - step.clocked_s), kMemoryBoundDraw);
  }
  const double pass_s = to_seconds(std::max(folded.device, folded.host));
  mix.add_other(times * (pass_s - busy_s), waiting_draw);
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
  const GpuSpec& gpu = costs.hardware.hardware.gpu;
  const double waiting_draw = gpu.blocked_w.value / gpu.tdp_w.value;
  PowerMix mix;
  for (const auto& [block, count] : layers) {
    const BlockBodies bodies = price_block(job, blocks.of(block), costs);
    add(mix, bodies.forward, bodies.folded_forward, count, waiting_draw);
    add(mix, bodies.backward, bodies.folded_backward, count, waiting_draw);
  }
  return std::min(mix.clock_share(), gpu.sustained_share.value);
}

}  // namespace mirfak
