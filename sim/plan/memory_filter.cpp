#include "plan/memory_filter.hpp"

#include "program/optimizer_offload.hpp"

#include <algorithm>
#include <limits>

namespace mirfak {

namespace {

double fullest(const std::vector<InFlightMoment>& moments, std::span<const ChunkMemory> chunks) {
  double most = 0;
  for (const InFlightMoment& moment : moments) {
    const ChunkMemory& runs = chunks[static_cast<std::size_t>(moment.chunk)];
    double now = moment.kind == Pass::Kind::forward ? runs.forward : runs.backward;
    for (std::size_t chunk = 0; chunk < chunks.size(); ++chunk) now += moment.microbatches[chunk] * chunks[chunk].kept;
    most = std::max(most, now);
  }
  return most;
}

}  // namespace

double memory_shortage(const Branch& branch, const PipelineChoice& choice, std::span<const ChunkMemory> chunks,
                       std::span<const StateTerms> states, ScheduleFacts& facts) {
  const auto v = static_cast<std::size_t>(choice.chunks);
  double worst = -std::numeric_limits<double>::infinity();
  for (int own = 0; own < branch.layout().count(); ++own) {
    const std::shared_ptr<const ScheduleFacts::Moments> moments =
        facts.moments(choice.schedule, branch.shape(choice, own));
    for (std::size_t stage = 0; stage < moments->size(); ++stage) {
      const std::size_t place = branch.layout().place(static_cast<int>(stage), own);
      const std::span<const ChunkMemory> runs = chunks.subspan(stage * v, v);
      const double most = std::max(states[place].step_workspace, fullest((*moments)[stage], runs));
      const NodeHardware& node = branch.layout().costs[place].hardware->hardware;
      worst = std::max(worst, states[place].resident + most - node.gpu.memory_bytes.value);
      worst = std::max(worst, states[place].host - host_memory_share(node.spec));
    }
  }
  return worst;
}

std::vector<ChunkMemory> memory_of_chunks(const Branch& branch, const PipelineChoice& choice,
                                          std::span<const std::vector<ChunkPlan>> chunks) {
  Job job = branch.job();
  choice.apply_to(job.strategy, branch.layout().classes);
  std::vector<ChunkMemory> out;
  for (const std::vector<ChunkPlan>& stage : chunks) {
    for (const ChunkPlan& chunk : stage) out.push_back(chunk_memory(job, branch.blocks().memory, chunk));
  }
  return out;
}

}  // namespace mirfak
