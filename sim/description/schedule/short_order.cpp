#include "schedule/short_order.hpp"

#include <algorithm>

namespace mirfak {

// Shortens orders: warm-up takes at most two microbatches of a chunk for each stage, and a round of the last chunk.
StageOrders short_orders(const Schedule& schedule, PipelineShape shape, const PassTimes& times) {
  if (schedule.alternates) {
    const int warm = 2 * shape.stages + 2 * shape.group;
    const int rounds = (warm + shape.group - 1) / shape.group + 2;
    shape.microbatches = std::min(shape.microbatches, rounds * shape.group + shape.microbatches % shape.group);
  }
  return schedule.orders(shape, times);
}

}  // namespace mirfak
