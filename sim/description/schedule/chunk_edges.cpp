#include "schedule/chunk_edges.hpp"

#include "schedule/short_order.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace mirfak {

namespace {

void count(PassCounts& counts, const Pass& pass) {
  ++(pass.kind == Pass::Kind::forward ? counts.forward : counts.backward)[static_cast<std::size_t>(pass.chunk)];
}

// Counts for each chunk the passes before its first pass of a kind.
void count_until_met(std::span<const Pass> order, Pass::Kind kind, PassCounts ChunkEdges::*counts,
                     std::vector<ChunkEdges>& out) {
  std::vector<bool> met(out.size());
  for (const Pass& pass : order) {
    if (pass.kind == kind) met[static_cast<std::size_t>(pass.chunk)] = true;
    for (std::size_t chunk = 0; chunk < out.size(); ++chunk) {
      if (!met[chunk]) count(out[chunk].*counts, pass);
    }
  }
}

std::vector<ChunkEdges> edges_of(std::vector<Pass> order, std::size_t chunks) {
  const PassCounts none = {std::vector<std::int32_t>(chunks), std::vector<std::int32_t>(chunks)};
  std::vector<ChunkEdges> out(chunks, {none, none});
  // The chunk's first forward pass is the stage's first pass, its last backward pass the last.
  if (chunks == 1) return out;
  count_until_met(order, Pass::Kind::forward, &ChunkEdges::before_first, out);
  std::reverse(order.begin(), order.end());
  count_until_met(order, Pass::Kind::backward, &ChunkEdges::behind_last, out);
  return out;
}

}  // namespace

std::vector<std::vector<ChunkEdges>> chunk_edges(const Schedule& schedule, const PipelineShape& shape) {
  std::vector<std::vector<ChunkEdges>> out;
  for (std::vector<Pass>& order : short_orders(schedule, shape)) {
    out.push_back(edges_of(std::move(order), static_cast<std::size_t>(shape.chunks)));
  }
  return out;
}

}  // namespace mirfak
