#pragma once

#include "plan/priced_branch.hpp"
#include "plan/schedule_facts.hpp"
#include "program/memory.hpp"

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace mirfak {

// Returns the room that a strategy leaves on its stages under the limit of the branch. The result equals that of
// account_memory(), which goes pass by pass, but only the fullest moments of the schedule are examined. Stages are
// asked for their state one after the other, until `ends` returns true for the room that those before leave. `chunks`:
// stage after stage; `stages`: of the pipeline, whose state is `state`.
MemoryRoom memory_room(const PricedBranch& branch, const PipelineChoice& choice, std::span<const ChunkMemory> chunks,
                       PricedBranch::Stages& stages, const StateChoice& state, ScheduleFacts& facts,
                       const std::function<bool(const MemoryRoom&)>& ends);

// Memory that each chunk of a pipeline keeps and needs, stage after stage. It depends on a state only through the stage
// of ZeRO.
class MemoryOfChunks {
 public:
  // `chunks`: the chunks of each stage.
  MemoryOfChunks(const PricedBranch& branch, const PipelineChoice& choice,
                 std::span<const std::vector<ChunkPlan>> chunks)
      : branch_(branch), choice_(choice), chunks_(chunks) {}

  const std::vector<ChunkMemory>& under(const StateChoice& state);

 private:
  std::vector<ChunkMemory> found(const StateChoice& state);

  const PricedBranch& branch_;
  const PipelineChoice& choice_;
  std::span<const std::vector<ChunkPlan>> chunks_;
  std::optional<Job> job_;                         // of the pipeline, once it is asked for: copies take long
  std::map<int, std::vector<ChunkMemory>> known_;  // by stage of ZeRO
};

}  // namespace mirfak
