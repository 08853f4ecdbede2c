#pragma once

#include "plan/branch.hpp"
#include "plan/schedule_facts.hpp"
#include "program/memory.hpp"

#include <span>
#include <vector>

namespace mirfak {

// Bytes that the fullest stage of a strategy lacks, on its device or its host, as account_memory() finds it pass by
// pass, from the fullest moments of its schedule; 0 or less: it fits. `chunks`: stage after stage; `states`: of each
// stage and class of replicas.
double memory_shortage(const Branch& branch, const PipelineChoice& choice, std::span<const ChunkMemory> chunks,
                       std::span<const StateTerms> states, ScheduleFacts& facts);

// What each chunk keeps and needs, stage after stage.
std::vector<ChunkMemory> memory_of_chunks(const Branch& branch, const PipelineChoice& choice,
                                          std::span<const std::vector<ChunkPlan>> chunks);

}  // namespace mirfak
