#include "engine_programs.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace mirfak {

namespace {

Program bare_program(std::uint32_t streams) {
  Program program;
  for (std::uint32_t rank = 0; rank < streams; ++rank) program.add_stream(rank, StreamKind::compute);
  program.add_class({});
  return program;
}

// One stage of 1F1B: forwards to fill the pipeline, then a backward and a forward in turn, then the last backwards.
struct StageOrder {
  std::uint32_t warm_up;
  std::uint32_t microbatches;
  std::uint32_t forwards = 0;
  std::uint32_t backwards = 0;

  bool done() const { return backwards == microbatches; }
  bool next_is_forward() const { return forwards < microbatches && forwards < backwards + warm_up; }
};

}  // namespace

Program hold_program(std::uint32_t streams, std::uint32_t tasks_per_stream) {
  Program program = bare_program(streams);
  const std::size_t tasks = std::size_t{streams} * tasks_per_stream;
  program.duration.reserve(tasks);
  program.stream.reserve(tasks);
  program.task_class.reserve(tasks);
  program.microbatch.reserve(tasks);
  program.dependency_begin.reserve(tasks + 1);
  FastRandom random(1);
  for (std::uint32_t k = 0; k < tasks_per_stream; ++k) {
    for (StreamId stream = 0; stream < streams; ++stream) program.add_task(stream, 0, random.delay(), {});
  }
  return program;
}

Program one_forward_one_backward(std::uint32_t stages, std::uint32_t microbatches) {
  Program program = bare_program(stages);
  FastRandom random(1);
  std::vector<StageOrder> order;
  for (std::uint32_t stage = 0; stage < stages; ++stage) {
    order.push_back({std::min(stages - stage, microbatches), microbatches});
  }
  std::vector<TaskId> forward(std::size_t{stages} * microbatches);
  std::vector<TaskId> backward(forward.size());
  while (!order.front().done()) {
    for (StreamId stage = 0; stage < stages; ++stage) {
      StageOrder& own = order[stage];
      if (own.done()) continue;
      const bool is_forward = own.next_is_forward();
      const std::uint32_t microbatch = is_forward ? own.forwards : own.backwards;
      const bool is_first = is_forward ? stage == 0 : stage + 1 == stages;
      TaskId after = 0;
      if (!is_first) {
        const StageOrder& neighbour = order[is_forward ? stage - 1 : stage + 1];
        if ((is_forward ? neighbour.forwards : neighbour.backwards) <= microbatch) continue;
        after = is_forward ? forward[std::size_t{stage - 1} * microbatches + microbatch]
                           : backward[std::size_t{stage + 1} * microbatches + microbatch];
      }
      const Picoseconds lasting =
          (is_forward ? 10'000'000 : 20'000'000) + static_cast<Picoseconds>(random.next() >> 46);
      const TaskId task = program.add_task(stage, 0, lasting, std::span(&after, is_first ? 0 : 1));
      (is_forward ? forward : backward)[std::size_t{stage} * microbatches + microbatch] = task;
      ++(is_forward ? own.forwards : own.backwards);
    }
  }
  return program;
}

}  // namespace mirfak
