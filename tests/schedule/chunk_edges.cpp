// The passes around each chunk's first forward and last backward pass, counted from few microbatches, against the whole
// order of a schedule.

#include "schedule/chunk_edges.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace mirfak;

namespace {

int passes(const std::vector<Pass>& order, std::ptrdiff_t begin, std::ptrdiff_t end, Pass::Kind kind, int chunk) {
  return static_cast<int>(std::count_if(order.begin() + begin, order.begin() + end,
                                        [&](const Pass& pass) { return pass.kind == kind && pass.chunk == chunk; }));
}

void check_counts(const PassCounts& counts, const std::vector<Pass>& order, std::ptrdiff_t begin, std::ptrdiff_t end) {
  for (std::size_t chunk = 0; chunk < counts.forward.size(); ++chunk) {
    CHECK(counts.forward[chunk] == passes(order, begin, end, Pass::Kind::forward, static_cast<int>(chunk)));
    CHECK(counts.backward[chunk] == passes(order, begin, end, Pass::Kind::backward, static_cast<int>(chunk)));
  }
}

void check_stage(ScheduleKind schedule, const PipelineShape& shape, int stage) {
  const std::vector<Pass> order = schedule_of(schedule).order(shape, stage);
  const std::vector<ChunkEdges> edges = chunk_edges(schedule, shape, stage);
  REQUIRE(static_cast<int>(edges.size()) == shape.chunks);
  const auto size = static_cast<std::ptrdiff_t>(order.size());
  for (int chunk = 0; chunk < shape.chunks; ++chunk) {
    const auto is = [&](Pass::Kind kind) {
      return [&, kind](const Pass& pass) { return pass.kind == kind && pass.chunk == chunk; };
    };
    const auto first = std::find_if(order.begin(), order.end(), is(Pass::Kind::forward)) - order.begin();
    const auto behind = std::find_if(order.rbegin(), order.rend(), is(Pass::Kind::backward)) - order.rbegin();
    check_counts(edges[static_cast<std::size_t>(chunk)].before_first, order, 0, first);
    check_counts(edges[static_cast<std::size_t>(chunk)].behind_last, order, size - behind, size);
  }
}

}  // namespace

TEST_CASE("few microbatches show what passes surround a chunk") {
  for (const int stages : {1, 2, 3, 5}) {
    for (const int chunks : {1, 2, 4}) {
      for (const int microbatches : {stages, stages + 1, 2 * stages, 7 * stages, 40 * stages, 40 * stages + 3}) {
        CAPTURE(stages);
        CAPTURE(chunks);
        CAPTURE(microbatches);
        const PipelineShape shape = {stages, chunks, microbatches, stages};
        for (int stage = 0; stage < stages; ++stage) {
          if (chunks > 1) {
            if (microbatches % stages == 0) check_stage(ScheduleKind::interleaved, shape, stage);
            continue;
          }
          check_stage(ScheduleKind::gpipe, shape, stage);
          check_stage(ScheduleKind::one_forward_one_backward, shape, stage);
        }
      }
    }
  }
}
