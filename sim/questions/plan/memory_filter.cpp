#include "plan/memory_filter.hpp"

#include "program/optimizer_offload.hpp"
#include "program/unit_memory.hpp"

#include <algorithm>

namespace mirfak {

namespace {

double fullest(const std::vector<InFlightMoment>& moments, std::span<const ChunkMemory> chunks) {
  double max = 0;
  for (const InFlightMoment& moment : moments) {
    const ChunkMemory& runs = chunks[static_cast<std::size_t>(moment.chunk)];
    double now = runs.of(moment.kind).bytes();
    if (moment.beside >= 0) now += chunks[static_cast<std::size_t>(moment.beside)].of(moment.beside_kind).bytes();
    for (std::size_t chunk = 0; chunk < chunks.size(); ++chunk) now += moment.microbatches[chunk] * chunks[chunk].kept;
    for (std::size_t chunk = 0; chunk < moment.weights_due.size(); ++chunk) {
      now += moment.weights_due[chunk] * chunks[chunk].due;
    }
    max = std::max(max, now);
  }
  return max;
}

}  // namespace

MemoryRoom memory_room(const PricedBranch& branch, const PipelineChoice& choice, std::span<const ChunkMemory> chunks,
                       PricedBranch::Stages& stages, const StateChoice& state, ScheduleFacts& facts,
                       const std::function<bool(const MemoryRoom&)>& ends) {
  MemoryRoom room;
  // An order that depends on times is known only after they are: score_iteration checks its memory then.
  if (schedule_of(choice.schedule).needs_times) return room;
  for (int own = 0; own < branch.layout().count(); ++own) {
    const ScheduleFacts::Moments& moments = facts.moments(choice.schedule, branch.shape(choice, own));
    std::size_t first = 0;
    const StateTerms* terms = nullptr;  // of stages alike
    for (std::size_t stage = 0; stage < moments.size(); ++stage) {
      const auto v = static_cast<std::size_t>(choice.chunks_of(static_cast<int>(stage)));
      const std::size_t place = branch.layout().place(static_cast<int>(stage), own);
      const std::span<const ChunkMemory> runs = chunks.subspan(first, v);
      first += v;
      if (stages.like[place] == place) terms = &branch.state_terms_at(place, stages, state);
      const double max = std::max(terms->step_workspace, fullest(moments[stage], runs));
      const NodeHardware& node = branch.layout().costs[place].hardware->hardware;
      room.add_device(terms->resident + max, branch.job().framework.memory.platform_bytes, node.gpu.memory_bytes.value,
                      branch.limit());
      room.add_host(terms->host, host_memory_share(node.spec), branch.limit());
      if (ends(room)) return room;
    }
  }
  return room;
}

const std::vector<ChunkMemory>& MemoryOfChunks::under(const StateChoice& state) {
  const auto [known, added] = known_.try_emplace(state.zero);
  if (added) known->second = found(state);
  return known->second;
}

std::vector<ChunkMemory> MemoryOfChunks::found(const StateChoice& state) {
  if (!job_) {
    job_ = branch_.job();
    choice_.apply_to(job_->strategy, branch_.layout().classes);
  }
  Job& job = *job_;
  state.apply_to(job.strategy);
  std::vector<ChunkMemory> out;
  for (std::size_t i = 0; i < chunks_.size(); ++i) {
    const int stage = static_cast<int>(i);
    const auto& blocks = branch_.blocks(stage);
    if (gathers_by_blocks(job) || gradients_come_and_go(job)) {  // needs parameters, which the chunks do not know yet
      const StageContents contents(job, blocks.blocks, stage, chunks_[i]);
      const double width = contents.parameters.gathered_bytes_per_element;
      for (const ChunkPlan& chunk : contents.chunks) out.push_back(chunk_memory(job, blocks.memory, chunk, width));
    } else {
      for (const ChunkPlan& chunk : chunks_[i]) out.push_back(chunk_memory(job, blocks.memory, chunk, 0));
    }
  }
  return out;
}

}  // namespace mirfak
