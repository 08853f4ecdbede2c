#pragma once

#include "plan/branch.hpp"
#include "plan/schedule_facts.hpp"
#include "program/memory.hpp"

#include <span>
#include <vector>

namespace mirfak {

// The room that a strategy leaves on its stages, where the headroom of the branch is kept free: as account_memory()
// finds it pass by pass, from the fullest moments of its schedule. `chunks`: stage after stage; `states`: of each stage
// and class of replicas.
MemoryRoom memory_room(const Branch& branch, const PipelineChoice& choice, std::span<const ChunkMemory> chunks,
                       std::span<const StateTerms> states, ScheduleFacts& facts);

// What each chunk keeps and needs, stage after stage.
std::vector<ChunkMemory> memory_of_chunks(const Branch& branch, const PipelineChoice& choice,
                                          std::span<const std::vector<ChunkPlan>> chunks);

}  // namespace mirfak
