#include "report/host_copies.hpp"

#include "base/units.hpp"
#include "program/expert_room.hpp"
#include "program/offloaded_tensors.hpp"
#include "program/optimizer_offload.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace mirfak {

namespace {

// Copies of one chunk's activations, and what its passes wait for them.
struct Copies {
  double bytes = 0;
  double seconds = 0;
  double forward_wait_s = 0;
  double backward_wait_s = 0;
};

Copies copies_of(const Simulation& simulation, const StagePlan& plan, const ChunkPlan& chunk) {
  const Job& job = job_at(simulation.job, simulation.blocks, plan.stage);
  const ShardedBlocks& blocks = simulation.blocks.at(plan.stage);
  const NodeHardware& node = plan.costs.hardware->hardware;
  const auto wait = [&](Pass::Kind kind) {
    return wait_for_copies_s(job, blocks, chunk, node, to_seconds(plan.folded(chunk, kind).device));
  };
  const double bytes = copied_activation_bytes(job, blocks, chunk);
  return {bytes, host_copy_seconds(bytes, node), wait(Pass::Kind::forward), wait(Pass::Kind::backward)};
}

// Copies of a chunk's rows to pages, and what its passes lose to them.
Copies page_copies_of(const Simulation& simulation, const StagePlan& plan, int chunk) {
  const Job& job = job_at(simulation.job, simulation.blocks, plan.stage);
  const ShardedBlocks& blocks = simulation.blocks.at(plan.stage);
  const auto lost = [&](Pass::Kind kind) {
    const std::vector<BodyStep> steps = stash_steps(job, blocks, plan, chunk, kind);
    return steps.empty() ? 0 : to_seconds(steps.front().device);
  };
  Copies out{0, 0, lost(Pass::Kind::forward), lost(Pass::Kind::backward)};
  for (const BlockRun& run : plan.chunks[static_cast<std::size_t>(chunk)].runs) {
    const StashedRows rows = stashed_rows(job, blocks.of(run.block), blocks.mesh);
    out.bytes += run.count * rows.copied();
    out.seconds += run.count * stash_copies(job, rows, plan.costs).alone_s();
  }
  return out;
}

}  // namespace

void add_host_copies(Explanation& why, const ReplicaCollective& collective, const NodeHardware& node) {
  if (collective.host_bytes <= 0) return;
  why.numbers += fmt::format(", after {} from the host", format_bytes(collective.host_bytes));
  if (collective.disk_bytes > 0) {
    why.numbers += fmt::format(", {} of it from its disks", format_bytes(collective.disk_bytes));
  }
  why.evaluation += fmt::format(" + {:.6g}", seconds_from_host(collective, node));
}

std::string activation_copies_text(const Simulation& simulation) {
  const Strategy& strategy = simulation.job.strategy;
  if (strategy.offload_layers == 0 && strategy.offload_modules.none()) return {};
  Copies most;
  for (const StagePlan& plan : simulation.plans) {
    for (const ChunkPlan& chunk : plan.chunks) {
      const Copies copies = copies_of(simulation, plan, chunk);
      if (copies.seconds > most.seconds) most = copies;
    }
  }
  if (most.bytes == 0)
    return "\nActivations on the host: none, as no tensor of these modules is large enough or waits alone\n";
  std::string waits = "which hide behind kernels";
  if (most.forward_wait_s > 0 || most.backward_wait_s > 0) {
    waits = fmt::format("which do NOT HIDE: a forward pass waits {}, a backward pass {}",
                        format_seconds(most.forward_wait_s), format_seconds(most.backward_wait_s));
  }
  return fmt::format("\nActivations on the host: {} of each pass of a rank, copied in {} each way, {}\n",
                     format_bytes(most.bytes), format_seconds(most.seconds), waits);
}

std::string page_copies_text(const Simulation& simulation) {
  if (simulation.job.strategy.expert_stash == 0) return {};
  Copies most;
  for (const StagePlan& plan : simulation.plans) {
    for (int chunk = 0; chunk < static_cast<int>(plan.chunks.size()); ++chunk) {
      const Copies copies = page_copies_of(simulation, plan, chunk);
      if (copies.bytes > most.bytes) most = copies;
    }
  }
  return fmt::format(
      "\nRows of experts in pages: {} of each pass of a rank, copied in {} each way; a forward pass loses {} to that, "
      "a "
      "backward pass {}\n",
      format_bytes(most.bytes), format_seconds(most.seconds), format_seconds(most.forward_wait_s),
      format_seconds(most.backward_wait_s));
}

std::string disk_text(const Simulation& simulation) {
  double most = 0;
  for (const StageResult& stage : simulation.result.stages) most = std::max(most, stage.memory.disk);
  return most > 0 ? fmt::format("\nOn disks: {} of a rank\n", format_bytes(most)) : std::string();
}

}  // namespace mirfak
