#include "engine/sweep.hpp"

#include "base/cancellation.hpp"

#include <algorithm>
#include <cstddef>

// If every stream runs its tasks in a static order and nothing is shared, the times of an iteration are the longest
// paths of its dependency graph:
//
//   start[i] = max(end of the task before i on its stream, end[d] for all dependencies d of i)
//   end[i]   = start[i] + duration[i]
//
// (max and plus are the two operations of the max-plus semiring, hence the name.) A program lists its tasks in a
// topological order, so one pass over its arrays is enough: no queue, no events, and memory is read in order but for
// the ends of dependencies. Example: two streams, tasks a (3 ps), b (2 ps) after a on the other stream, c (4 ps) next
// on the first: end[a] = 3, end[b] = max(0, 3) + 2 = 5, end[c] = max(3) + 4 = 7.
//
// One task costs a few nanoseconds, 5 to 20 times less than an event; tests/bench has the figures of a given machine.
// tests/engine/engines_agree.cpp compares the sweep with the event engine and a naive reference.

namespace mirfak {

namespace {

constexpr std::size_t kTasksBetweenChecks = 1 << 20;

// Calls each(task, start, end) for every task in program order; returns the makespan. `end` must have room for all.
template <class Each>
Picoseconds sweep(const Program& program, std::vector<Picoseconds>& stream_end, Picoseconds* end, const Each& each) {
  stream_end.assign(program.streams.size(), 0);
  const std::size_t tasks = program.size();
  const Picoseconds* const duration = program.duration.data();
  const StreamId* const stream = program.stream.data();
  const TaskId* const dependency_begin = program.dependency_begin.data();
  const TaskId* const dependencies = program.dependencies.data();
  Picoseconds* const free_at = stream_end.data();
  TaskId dependency = dependency_begin[0];
  for (std::size_t task = 0; task < tasks; ++task) {
    if (task % kTasksBetweenChecks == 0) check_cancelled();
    Picoseconds start = free_at[stream[task]];
    const TaskId dependency_end = dependency_begin[task + 1];
    for (; dependency < dependency_end; ++dependency) start = std::max(start, end[dependencies[dependency]]);
    end[task] = start + duration[task];
    free_at[stream[task]] = end[task];
    each(task, start);
  }
  return stream_end.empty() ? 0 : *std::max_element(stream_end.begin(), stream_end.end());
}

}  // namespace

Timeline execute_sweep(const Program& program) {
  Timeline timeline;
  timeline.start.resize(program.size());
  check_cancelled();  // so much memory takes a while
  timeline.end.resize(program.size());
  std::vector<Picoseconds> stream_end;
  Picoseconds* const starts = timeline.start.data();
  timeline.makespan = sweep(program, stream_end, timeline.end.data(),
                            [starts](std::size_t task, Picoseconds start) { starts[task] = start; });
  timeline.events = program.size();
  return timeline;
}

Picoseconds Sweep::makespan(const Program& program) {
  ends_.resize(program.size());
  return sweep(program, stream_end_, ends_.data(), [](std::size_t, Picoseconds) {});
}

}  // namespace mirfak
