#include "plan/memory_filter.hpp"

#include <algorithm>
#include <limits>

namespace mirfak {

std::shared_ptr<const MemoryFilter::Stages> MemoryFilter::moments_of(ScheduleKind schedule,
                                                                     const PipelineShape& shape) {
  const auto key = std::tuple(schedule, shape.stages, shape.chunks, shape.microbatches, shape.group);
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = known_.find(key); known != known_.end()) return known->second;
  }
  auto made = std::make_shared<Stages>();
  for (int stage = 0; stage < shape.stages; ++stage) made->push_back(fullest_moments(schedule, shape, stage));
  const std::lock_guard lock(mutex_);
  return known_.emplace(key, std::move(made)).first->second;
}

double MemoryFilter::shortage(const Branch& branch, const PipelineChoice& choice, std::span<const ChunkMemory> chunks,
                              std::span<const StateTerms> states) {
  PipelineShape shape;
  shape.stages = branch.job().strategy.pipeline;
  shape.chunks = choice.chunks;
  shape.microbatches = branch.microbatches();
  const int group = branch.job().strategy.microbatch_group;
  shape.group = group > 0 ? group : shape.stages;
  const std::shared_ptr<const Stages> moments = moments_of(choice.schedule, shape);
  const auto v = static_cast<std::size_t>(choice.chunks);
  double worst = -std::numeric_limits<double>::infinity();
  for (std::size_t stage = 0; stage < states.size(); ++stage) {
    const std::span<const ChunkMemory> own = chunks.subspan(stage * v, v);
    double most = states[stage].step_workspace;
    for (const InFlightMoment& moment : (*moments)[stage]) {
      const ChunkMemory& runs = own[static_cast<std::size_t>(moment.chunk)];
      double now = moment.kind == Pass::Kind::forward ? runs.forward : runs.backward;
      for (std::size_t chunk = 0; chunk < v; ++chunk) now += moment.microbatches[chunk] * own[chunk].kept;
      most = std::max(most, now);
    }
    const double capacity = branch.layout().stages[stage].hardware.hardware.gpu.memory_bytes.value;
    worst = std::max(worst, states[stage].resident + most - capacity);
  }
  return worst;
}

std::vector<ChunkMemory> memory_of_chunks(const Branch& branch, std::span<const std::vector<ChunkPlan>> chunks) {
  std::vector<ChunkMemory> out;
  for (const std::vector<ChunkPlan>& stage : chunks) {
    for (const ChunkPlan& chunk : stage) out.push_back(chunk_memory(branch.job(), branch.blocks().memory, chunk));
  }
  return out;
}

}  // namespace mirfak
