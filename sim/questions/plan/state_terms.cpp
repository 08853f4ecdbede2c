#include "plan/state_terms.hpp"

#include "program/memory.hpp"
#include "program/optimizer_offload.hpp"
#include "program/optimizer_step.hpp"
#include "program/sharded_state.hpp"

#include <array>
#include <bit>
#include <map>

namespace mirfak {

Picoseconds time_of(const std::vector<ReplicaCollective>& collectives, const StageCosts& costs) {
  Picoseconds sum = 0;
  for (const ReplicaCollective& collective : collectives) sum += to_picoseconds(price(collective, costs).seconds);
  return sum;
}

StateTerms state_terms(const Job& job, const ShardedBlocks& blocks, int stage, const std::vector<ChunkPlan>& chunks,
                       const StageCosts& costs) {
  const StageContents contents(job, blocks, stage, chunks);
  StateTerms out;
  out.resident = resident_memory(job, blocks, contents).total();
  out.step_workspace = step_workspace(job, contents);
  const HeldParameters held = contents.parameters.held();
  out.host = bytes_on_host(job, contents.parameters);
  if (job.strategy.replicas() > 1) {
    out.reduce = time_of(gradient_reduction(job, held), costs);
    if (data_parallel_plan(job).shards > 1) {
      constexpr double number = 4;
      out.norms = time_of({{"sum gradient norms", CollectiveKind::all_reduce, number, ReplicaGroup::shard}}, costs);
      out.gather = time_of(parameter_gather(job, contents.parameters, held), costs);
    }
  }
  const FoldedBody step = step_body(job, contents.parameters, costs);
  out.optimizer = step.device + step.lead;
  return out;
}

// The time at which gradients are reduced decides if they are on the host before the step.
HeldBy held_by(const StateChoice& choice) {
  return {choice.zero, choice.offload_optimizer, choice.offload_optimizer > 0 && choice.overlap_grad_reduce};
}

// The bytes of a stage do not depend on which of its layers are recomputed. The order of its layers matters only if
// chunks are reduced part by part; at the ends of a chunk, only the size of the stream matters.
std::vector<int> state_key(const ShardedBlocks& blocks, std::span<const BlockId> kept_of,
                           const std::vector<ChunkPlan>& chunks, const StateChoice& choice) {
  const auto [zero, offloaded, reduced_before] = held_by(choice);
  const auto share = std::bit_cast<std::array<int, 2>>(offloaded);
  std::vector<int> key = {zero, share[0], share[1], reduced_before ? 1 : 0};
  const bool in_order = choice.zero >= 2;
  std::map<BlockId, int> counts;
  for (const ChunkPlan& chunk : chunks) {
    BlockId before = -1;
    for (const BlockRun& run : chunk.runs) {
      const BlockId block = kept_of[static_cast<std::size_t>(run.block)];
      if (!in_order) {
        counts[block] += run.count;
      } else if (block == before) {
        key.back() += run.count;
      } else {
        key.insert(key.end(), {block, run.count});
      }
      before = block;
    }
    if (in_order) key.push_back(-1);
  }
  for (const auto& [block, count] : counts) key.insert(key.end(), {block, count});
  const auto first_as_large = [&](BlockId block) {
    BlockId first = ShardedBlocks::kEmbedding;
    while (blocks.stream_bytes(first) != blocks.stream_bytes(block)) ++first;
    return first;
  };
  for (const ChunkPlan& chunk : chunks) {
    key.insert(key.end(), {first_as_large(chunk.entering), first_as_large(chunk.leaving)});
  }
  return key;
}

}  // namespace mirfak
