#include "plan/schedule_facts.hpp"

namespace mirfak {

template <typename Fact, typename Find>
std::shared_ptr<const Fact> ScheduleFacts::found_once(Known<Fact>& known, ScheduleId schedule,
                                                      const PipelineShape& shape, const Find& find) {
  const std::tuple key(schedule, shape.stages, shape.chunks, shape.microbatches, shape.group, shape.max_in_flight);
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = known.find(key); found != known.end()) return found->second;
  }
  auto made = std::make_shared<Fact>(find(schedule_of(schedule), shape));
  const std::lock_guard lock(mutex_);
  return known.emplace(key, std::move(made)).first->second;
}

std::shared_ptr<const ScheduleFacts::Moments> ScheduleFacts::moments(ScheduleId schedule, const PipelineShape& shape) {
  return found_once(moments_, schedule, shape,
                    [](const Schedule& of, const PipelineShape& size) { return fullest_moments(of, size); });
}

std::shared_ptr<const ScheduleFacts::Edges> ScheduleFacts::edges(ScheduleId schedule, const PipelineShape& shape) {
  return found_once(edges_, schedule, shape, chunk_edges);
}

}  // namespace mirfak
