#include "engine/critical_path.hpp"

#include <algorithm>

namespace mirfak {

std::vector<TaskId> critical_path(const Program& program, const Timeline& timeline) {
  if (program.size() == 0) return {};
  std::vector<TaskId> last_on(program.streams.size(), kNoTask);
  std::vector<TaskId> before(program.size());  // previous task on the stream
  for (TaskId task = 0; task < program.size(); ++task) {
    before[task] = last_on[program.stream[task]];
    last_on[program.stream[task]] = task;
  }
  const auto last = std::max_element(timeline.end.begin(), timeline.end.end());
  std::vector<TaskId> out;
  auto at = static_cast<TaskId>(last - timeline.end.begin());
  while (at != kNoTask) {
    out.push_back(at);
    TaskId latest = before[at];
    for (const TaskId other : program.dependencies_of(at)) {
      if (latest == kNoTask || timeline.end[other] > timeline.end[latest]) latest = other;
    }
    at = latest;
  }
  std::reverse(out.begin(), out.end());
  return out;
}

}  // namespace mirfak
