#include "training/plain_course.hpp"

namespace mirfak::test {

TrainingCourse plain_course(std::int64_t iterations, double iteration_s, int nodes, double rate_per_node_day,
                            CheckpointTier storage, double restart_s) {
  TrainingCourse course{WorkCalendar({{iterations, iteration_s, 1000.0}}, {storage}, {})};
  course.nodes = nodes;
  course.restart_s = restart_s;
  if (rate_per_node_day > 0) {
    FailureCause cause;
    cause.name = "node";
    cause.rate_per_s = rate_per_node_day * nodes / kDay;
    cause.nodes = 1;
    course.failures.causes.push_back(cause);
  }
  return course;
}

}  // namespace mirfak::test
