#include "executor/executor.hpp"

#include <algorithm>
#include <limits>

namespace mirfak::measure {

TaskTime span_of(std::span<const TaskTime> times) {
  TaskTime out{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
  for (const TaskTime& time : times) {
    out.ready = std::min(out.ready, time.ready);
    out.end = std::max(out.end, time.end);
  }
  return out;
}

TaskTime Executor::iterate_unmarked() {
  iterate();
  return span_of(times());
}

}  // namespace mirfak::measure
