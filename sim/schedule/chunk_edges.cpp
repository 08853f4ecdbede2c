#include "schedule/chunk_edges.hpp"

#include <algorithm>

namespace mirfak {

namespace {

// Warm-up and drain are as they were, the last group of microbatches included where it is not a whole one.
PipelineShape shortened(ScheduleKind schedule, PipelineShape shape) {
  if (schedule == ScheduleKind::gpipe) return shape;
  const int rounds = (2 * shape.stages + 2 * shape.group + shape.group - 1) / shape.group + 2;
  const int few = rounds * shape.group + shape.microbatches % shape.group;
  shape.microbatches = std::min(shape.microbatches, few);
  return shape;
}

void count(PassCounts& counts, const Pass& pass) {
  ++(pass.kind == Pass::Kind::forward ? counts.forward : counts.backward)[static_cast<std::size_t>(pass.chunk)];
}

}  // namespace

std::vector<ChunkEdges> chunk_edges(ScheduleKind schedule, const PipelineShape& shape, int stage) {
  const auto chunks = static_cast<std::size_t>(shape.chunks);
  const PassCounts none = {std::vector<std::int32_t>(chunks), std::vector<std::int32_t>(chunks)};
  std::vector<ChunkEdges> out(chunks, {none, none});
  if (chunks == 1) return out;  // its first forward pass is the stage's first pass, its last backward the last
  const std::vector<Pass> order = schedule_of(schedule).order(shortened(schedule, shape), stage);
  std::vector<bool> begun(chunks);
  for (const Pass& pass : order) {
    if (pass.kind == Pass::Kind::forward) begun[static_cast<std::size_t>(pass.chunk)] = true;
    for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
      if (!begun[chunk]) count(out[chunk].before_first, pass);
    }
  }
  std::vector<bool> ended(chunks);
  for (auto pass = order.rbegin(); pass != order.rend(); ++pass) {
    if (pass->kind == Pass::Kind::backward) ended[static_cast<std::size_t>(pass->chunk)] = true;
    for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
      if (!ended[chunk]) count(out[chunk].behind_last, *pass);
    }
  }
  return out;
}

}  // namespace mirfak
