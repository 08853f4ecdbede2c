#pragma once

#include "program/stage_plan.hpp"
#include "schedule/chunk_edges.hpp"
#include "schedule/in_flight.hpp"

#include <map>
#include <memory>
#include <mutex>
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
  std::shared_ptr<const Moments> moments(ScheduleId schedule, const PipelineShape& shape);
  std::shared_ptr<const Edges> edges(ScheduleId schedule, const PipelineShape& shape);

 private:
  template <typename Fact>
  using Known = std::map<std::tuple<ScheduleId, int, int, int, int, int>, std::shared_ptr<const Fact>>;
  template <typename Fact, typename Find>
  std::shared_ptr<const Fact> found_once(Known<Fact>& known, ScheduleId schedule, const PipelineShape& shape,
                                         const Find& find);

  std::mutex mutex_;
  Known<Moments> moments_;
  Known<Edges> edges_;
};

}  // namespace mirfak
