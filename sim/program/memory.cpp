#include "program/memory.hpp"

#include "program/sharded_state.hpp"

#include <algorithm>

namespace mirfak {

namespace {

// The most that one gradient operator has in memory of gradients of activations: its operands and results.
double gradient_workspace(const PartitionedBlock& block, const DeviceMesh& mesh) {
  double most = 0;
  for (const Operator& op : block.graph.operators) {
    if (op.phase == Phase::forward || op.phase == Phase::update) continue;
    double bytes = 0;
    const auto add = [&](const std::vector<Operand>& operands) {
      for (const Operand& operand : operands) {
        if (block.graph.tensor(operand.tensor).role != TensorRole::gradient) continue;
        bytes +=
            local_bytes(block.graph, operand.tensor, block.shardings[static_cast<std::size_t>(operand.tensor)], mesh);
      }
    };
    add(op.inputs);
    add(op.outputs);
    most = std::max(most, bytes);
  }
  return most;
}

}  // namespace

std::span<const MemoryPart> memory_parts() {
  static constexpr std::array<MemoryPart, 8> parts = {{
      {"parameters", &MemoryUse::parameters},
      {"gradients", &MemoryUse::gradients},
      {"optimizer", &MemoryUse::optimizer},
      {"activations", &MemoryUse::activations},
      {"workspace", &MemoryUse::workspace},
      {"gathered", &MemoryUse::gathered},
      {"communication", &MemoryUse::communication},
      {"platform", &MemoryUse::platform},
  }};
  return parts;
}

ChunkMemory chunk_memory(const ShardedBlocks& blocks, const DeviceMesh& mesh, const ChunkPlan& chunk) {
  ChunkMemory out;
  for (const BlockRun& run : chunk.runs) {
    const PartitionedBlock& block = blocks.of(run.block);
    out.kept += run.count * block.kept_bytes;
    out.workspace = std::max(out.workspace, block.recomputed_bytes + gradient_workspace(block, mesh));
  }
  return out;
}

MemoryUse resident_memory(const Job& job, const ShardedBlocks& blocks, const StagePlan& plan) {
  MemoryUse use = sharded_state(job, plan);
  // One activation and one gradient each way.
  use.communication = job.strategy.pipeline > 1 ? 4 * blocks.residual_bytes() : 0;
  use.platform = job.framework.platform_bytes;
  return use;
}

std::vector<StageMemory> account_memory(const Job& job, const ShardedBlocks& blocks,
                                        std::span<const StagePlan> stages) {
  const DeviceMesh mesh = mesh_of(job.strategy);
  std::vector<StageMemory> out;
  for (const StagePlan& plan : stages) {
    std::vector<ChunkMemory> chunks;
    for (const ChunkPlan& chunk : plan.chunks) chunks.push_back(chunk_memory(blocks, mesh, chunk));
    MemoryUse use = resident_memory(job, blocks, plan);
    StageMemory memory;
    memory.capacity = plan.costs.hardware.hardware.gpu.memory_bytes.value;
    memory.peak = use;
    int in_flight = 0;
    for (const Pass& pass : plan.order) {
      const ChunkMemory& chunk = chunks[static_cast<std::size_t>(pass.chunk)];
      const bool forward = pass.kind == Pass::Kind::forward;
      if (forward) {
        use.activations += chunk.kept;
        ++in_flight;
      }
      use.workspace = forward ? 0 : chunk.workspace;
      if (use.total() > memory.peak.total()) {
        memory.peak = use;
        memory.passes_in_flight = in_flight;
      }
      if (!forward) {
        use.activations -= chunk.kept;
        --in_flight;
      }
    }
    out.push_back(memory);
  }
  return out;
}

}  // namespace mirfak
