#include "schedule/short_order.hpp"

#include <algorithm>

namespace mirfak {

// Warm-up takes at most two microbatches of a chunk for each stage, and a round of the last chunk.
std::vector<Pass> short_order(ScheduleKind schedule, PipelineShape shape, int stage) {
  if (schedule != ScheduleKind::gpipe) {
    const int warm = 2 * shape.stages + 2 * shape.group;
    const int rounds = (warm + shape.group - 1) / shape.group + 2;
    shape.microbatches = std::min(shape.microbatches, rounds * shape.group + shape.microbatches % shape.group);
  }
  return schedule_of(schedule).order(shape, stage);
}

}  // namespace mirfak
