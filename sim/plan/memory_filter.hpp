#pragma once

#include "plan/branch.hpp"
#include "program/memory.hpp"
#include "schedule/in_flight.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <tuple>
#include <vector>

namespace mirfak {

// Whether strategies fit in memory, as account_memory() finds it pass by pass, from the fullest moments of their
// schedules. May be used by several threads at once.
class MemoryFilter {
 public:
  // Bytes that the fullest stage lacks, on its device or its host; 0 or less: it fits. `chunks`: stage after stage;
  // `states`: of each stage and class of replicas.
  double shortage(const Branch& branch, const PipelineChoice& choice, std::span<const ChunkMemory> chunks,
                  std::span<const StateTerms> states);

 private:
  using Stages = std::vector<std::vector<InFlightMoment>>;
  std::shared_ptr<const Stages> moments_of(ScheduleKind schedule, const PipelineShape& shape);

  std::mutex mutex_;
  std::map<std::tuple<ScheduleKind, int, int, int, int>, std::shared_ptr<const Stages>> known_;
};

// What each chunk keeps and needs, stage after stage.
std::vector<ChunkMemory> memory_of_chunks(const Branch& branch, const PipelineChoice& choice,
                                          std::span<const std::vector<ChunkPlan>> chunks);

}  // namespace mirfak
