#include "schedule/chunk_edges.hpp"

#include "schedule/short_order.hpp"

namespace mirfak {

namespace {

void count(PassCounts& counts, const Pass& pass) {
  ++(pass.kind == Pass::Kind::forward ? counts.forward : counts.backward)[static_cast<std::size_t>(pass.chunk)];
}

}  // namespace

std::vector<ChunkEdges> chunk_edges(ScheduleKind schedule, const PipelineShape& shape, int stage) {
  const auto chunks = static_cast<std::size_t>(shape.chunks);
  const PassCounts none = {std::vector<std::int32_t>(chunks), std::vector<std::int32_t>(chunks)};
  std::vector<ChunkEdges> out(chunks, {none, none});
  if (chunks == 1) return out;  // its first forward pass is the stage's first pass, its last backward the last
  const std::vector<Pass> order = short_order(schedule, shape, stage);
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
