#include "plan/schedule_facts.hpp"

namespace mirfak {

template <typename Fact, typename Find>
std::shared_ptr<const Fact> ScheduleFacts::found_once(Known<Fact>& known, ScheduleKind schedule,
                                                      const PipelineShape& shape, const Find& of_stage) {
  const std::tuple key(schedule, shape.stages, shape.chunks, shape.microbatches, shape.group);
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = known.find(key); found != known.end()) return found->second;
  }
  auto made = std::make_shared<Fact>();
  for (int stage = 0; stage < shape.stages; ++stage) made->push_back(of_stage(schedule, shape, stage));
  const std::lock_guard lock(mutex_);
  return known.emplace(key, std::move(made)).first->second;
}

std::shared_ptr<const ScheduleFacts::Moments> ScheduleFacts::moments(ScheduleKind schedule,
                                                                     const PipelineShape& shape) {
  return found_once(moments_, schedule, shape, fullest_moments);
}

std::shared_ptr<const ScheduleFacts::Edges> ScheduleFacts::edges(ScheduleKind schedule, const PipelineShape& shape) {
  return found_once(edges_, schedule, shape, chunk_edges);
}

}  // namespace mirfak
