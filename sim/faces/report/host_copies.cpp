#include "report/host_copies.hpp"

#include "base/units.hpp"
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

std::string disk_text(const Simulation& simulation) {
  double most = 0;
  for (const StageResult& stage : simulation.result.stages) most = std::max(most, stage.memory.disk);
  return most > 0 ? fmt::format("\nOn disks: {} of a rank\n", format_bytes(most)) : std::string();
}

}  // namespace mirfak
