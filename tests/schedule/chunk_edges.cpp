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

void check_stage(const PipelineShape& shape, const std::vector<Pass>& order, const std::vector<ChunkEdges>& edges) {
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

void check_stages(ScheduleId schedule, const PipelineShape& shape) {
  const StageOrders orders = schedule_of(schedule).orders_of(shape);
  const auto edges = chunk_edges(schedule_of(schedule), shape);
  for (std::size_t stage = 0; stage < orders.size(); ++stage) check_stage(shape, orders[stage], edges[stage]);
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
        if (chunks > 1) {
          if (microbatches % stages == 0) check_stages(schedule_named("interleaved-1f1b"), shape);
          continue;
        }
        check_stages(schedule_named("gpipe"), shape);
        check_stages(schedule_named("1f1b"), shape);
      }
    }
  }
}
