#pragma once

#include "base/made_once.hpp"
#include "program/stage_plan.hpp"
#include "schedule/chunk_edges.hpp"
#include "schedule/in_flight.hpp"

#include <tuple>
#include <vector>

namespace mirfak {

// Facts about schedules that bounds and filters need, found once for all strategies of a shape. May be used by several
// threads at once.
class ScheduleFacts {
 public:
  // Facts of each stage.
  using Moments = std::vector<std::vector<InFlightMoment>>;
  using Edges = std::vector<std::vector<ChunkEdges>>;
  const Moments& moments(ScheduleId schedule, const PipelineShape& shape) {
    return moments_.get(key(schedule, shape), [&] { return fullest_moments(schedule_of(schedule), shape); });
  }
  const Edges& edges(ScheduleId schedule, const PipelineShape& shape) {
    return edges_.get(key(schedule, shape), [&] { return chunk_edges(schedule_of(schedule), shape); });
  }

 private:
  using Key = std::tuple<ScheduleId, int, int, int, int, int>;
  static Key key(ScheduleId schedule, const PipelineShape& shape) {
    return {schedule, shape.stages, shape.chunks, shape.microbatches, shape.group, shape.max_in_flight};
  }

  MadeOnce<Key, Moments> moments_;
  MadeOnce<Key, Edges> edges_;
};

}  // namespace mirfak
