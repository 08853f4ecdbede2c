#include "plan/memory_filter.hpp"

#include "program/optimizer_offload.hpp"

#include <algorithm>

namespace mirfak {

namespace {

double fullest(const std::vector<InFlightMoment>& moments, std::span<const ChunkMemory> chunks) {
  double max = 0;
  for (const InFlightMoment& moment : moments) {
    const ChunkMemory& runs = chunks[static_cast<std::size_t>(moment.chunk)];
    double now = runs.workspace(moment.kind);
    if (moment.beside >= 0) now += chunks[static_cast<std::size_t>(moment.beside)].workspace(moment.beside_kind);
    for (std::size_t chunk = 0; chunk < chunks.size(); ++chunk) now += moment.microbatches[chunk] * chunks[chunk].kept;
    for (std::size_t chunk = 0; chunk < moment.weights_due.size(); ++chunk) {
      now += moment.weights_due[chunk] * chunks[chunk].due;
    }
    max = std::max(max, now);
  }
  return max;
}

}  // namespace

MemoryRoom memory_room(const Branch& branch, const PipelineChoice& choice, std::span<const ChunkMemory> chunks,
                       std::span<const StateTerms> states, ScheduleFacts& facts) {
  MemoryRoom room;
  // An order that depends on times is known once they are: it is asked again then (score_iteration).
  if (schedule_of(choice.schedule).needs_times) return room;
  for (int own = 0; own < branch.layout().count(); ++own) {
    const std::shared_ptr<const ScheduleFacts::Moments> moments =
        facts.moments(choice.schedule, branch.shape(choice, own));
    std::size_t first = 0;
    for (std::size_t stage = 0; stage < moments->size(); ++stage) {
      const auto v = static_cast<std::size_t>(choice.chunks_of(static_cast<int>(stage)));
      const std::size_t place = branch.layout().place(static_cast<int>(stage), own);
      const std::span<const ChunkMemory> runs = chunks.subspan(first, v);
      first += v;
      const double max = std::max(states[place].step_workspace, fullest((*moments)[stage], runs));
      const NodeHardware& node = branch.layout().costs[place].hardware->hardware;
      room.add(states[place].resident + max, node.gpu.memory_bytes.value, branch.headroom());
      room.add(states[place].host, host_memory_share(node.spec), branch.headroom());
    }
  }
  return room;
}

std::vector<ChunkMemory> memory_of_chunks(const Branch& branch, const PipelineChoice& choice,
                                          std::span<const std::vector<ChunkPlan>> chunks) {
  Job job = branch.job();
  choice.apply_to(job.strategy, branch.layout().classes);
  std::vector<ChunkMemory> out;
  for (std::size_t stage = 0; stage < chunks.size(); ++stage) {
    const std::vector<BlockMemory>& blocks = branch.blocks(static_cast<int>(stage)).memory;
    for (const ChunkPlan& chunk : chunks[stage]) out.push_back(chunk_memory(job, blocks, chunk));
  }
  return out;
}

}  // namespace mirfak
