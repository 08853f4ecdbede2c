#pragma once

#include "plan/branch.hpp"
#include "plan/schedule_facts.hpp"
#include "program/memory.hpp"

#include <map>
#include <span>
#include <vector>

namespace mirfak {

// The room that a strategy leaves on its stages, where the headroom of the branch is kept free: as account_memory()
// finds it pass by pass, from the fullest moments of its schedule. `chunks`: stage after stage; `states`: of each stage
// and class of replicas.
MemoryRoom memory_room(const Branch& branch, const PipelineChoice& choice, std::span<const ChunkMemory> chunks,
                       std::span<const StateTerms> states, ScheduleFacts& facts);

// What each chunk of a pipeline keeps and needs, stage after stage. Of a state, the stage of ZeRO alone counts.
class MemoryOfChunks {
 public:
  // `chunks`: of each stage.
  MemoryOfChunks(const Branch& branch, const PipelineChoice& choice, std::span<const std::vector<ChunkPlan>> chunks)
      : branch_(branch), choice_(choice), chunks_(chunks) {}

  const std::vector<ChunkMemory>& under(const StateChoice& state);

 private:
  std::vector<ChunkMemory> found(const StateChoice& state) const;

  const Branch& branch_;
  const PipelineChoice& choice_;
  std::span<const std::vector<ChunkPlan>> chunks_;
  std::map<int, std::vector<ChunkMemory>> known_;  // by stage of ZeRO
};

}  // namespace mirfak
