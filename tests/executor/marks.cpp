// Timelines with and without marks: the engine makes both, so what has to come out is known.

#include "executor/marks.hpp"

#include "engine/execute.hpp"
#include "scenario/scenario.hpp"
#include "simulation/iteration.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdlib>

namespace marks_test {

using namespace mirfak;
using namespace mirfak::measure;

namespace {

Job job_of(const std::string& strategy) {
  const std::string text = fmt::format(
      "model: {{source: test, family: gpt, layers: 4, hidden: 1024, heads: 8, ffn: 4096, vocab: 8192,\n"
      "  max_sequence: 512, activation: gelu, normalization: layer_norm, position: learned, linear_bias: true,\n"
      "  tied_embeddings: true, dropout: 0.1}}\n"
      "cluster: {{nodes: [{{type: dgx-a100-80g, count: 1, gpus: 4}}]}}\n"
      "training: {{global_batch: 8, sequence_length: 512, precision: bf16, framework: megatron-core,\n"
      "  cuda_graphs: full}}\n"
      "strategy: {{{}}}\n",
      strategy);
  const DataFolders folders{source_root() + "/models", source_root() + "/hw_profiles"};
  return parse_scenario(Document::from_text(text, "test"), folders).job;
}

bool on_device(const Program& program, TaskId task) {
  return program.streams[program.stream[task]].kind != StreamKind::host &&
         program.class_of(task).kind != TaskKind::meeting;
}

Timeline with_marks(Program program, Picoseconds mark) {
  for (TaskId task = 0; task < program.size(); ++task) {
    if (on_device(program, task)) program.duration[task] += mark;
  }
  return execute(program);
}

}  // namespace

TEST_CASE("marks are found and taken out again") {
  for (const char* strategy : {"tensor: 1", "pipeline: 4", "data: 4", "tensor: 2, pipeline: 2", "data: 2, tensor: 2"}) {
    CAPTURE(strategy);
    const Simulation simulation = lowered(job_of(strategy), {true, true});
    const Program& program = simulation.program;
    const ExecutionGroups groups = execution_groups(program);
    const Timeline bare = execute(program);
    constexpr Picoseconds kMark = 1'500'000;  // a part of the shortest kernel
    const Timeline marked = with_marks(program, kMark);
    REQUIRE(marked.makespan > bare.makespan + kMark);

    const Unmarked out = without_marks(program, groups, marked, bare.makespan, false);
    CHECK(std::llabs(out.mark - kMark) <= 1);
    CHECK(std::llabs(out.timeline.makespan - bare.makespan) <= static_cast<Picoseconds>(program.size()));
    for (TaskId task = 0; task < program.size(); ++task) {
      const auto slack = static_cast<Picoseconds>(program.size());
      CHECK(std::llabs(out.timeline.start[task] - bare.start[task]) <= slack);
      CHECK(std::llabs(out.timeline.end[task] - bare.end[task]) <= slack);
    }
  }
}

TEST_CASE("a mark goes out of the gap in front of a task first, and a tenth of a task stays") {
  const Simulation simulation = lowered(job_of("tensor: 1"), {true, true});
  const Program& program = simulation.program;
  const ExecutionGroups groups = execution_groups(program);
  // One kernel after another, each behind a gap, as a device makes them between two events; all else takes no time.
  const auto computes = [&](TaskId task) { return program.streams[program.stream[task]].kind == StreamKind::compute; };
  constexpr Picoseconds kGap = 1'000;
  constexpr Picoseconds kLength = 10'000;
  Timeline marked = execute(program);
  Picoseconds now = 0;
  Picoseconds tasks = 0;
  for (TaskId task = 0; task < program.size(); ++task) {
    marked.start[task] = marked.end[task] = 0;
    for (const TaskId before : program.dependencies_of(task)) {
      marked.start[task] = marked.end[task] = std::max(marked.end[task], marked.end[before]);
    }
    if (!computes(task)) continue;
    marked.start[task] = now + kGap;
    marked.end[task] = now = marked.start[task] + kLength;
    ++tasks;
  }
  marked.makespan = now;
  const auto length_at = [&](Picoseconds makespan) {
    Unmarked out = without_marks(program, groups, marked, makespan, true);
    Picoseconds ended = 0;
    for (TaskId task = 0; task < program.size(); ++task) {
      if (!computes(task)) continue;
      REQUIRE(ended <= out.timeline.start[task]);
      ended = out.timeline.end[task];
    }
    CHECK(out.timeline.makespan == ended);
    return out;
  };
  const Unmarked gaps = length_at(tasks * kLength);
  CHECK(gaps.mark == kGap);
  for (TaskId task = 0; task < program.size(); ++task) {
    if (computes(task)) CHECK(gaps.timeline.end[task] - gaps.timeline.start[task] == kLength);
  }
  const Unmarked halves = length_at(tasks * kLength / 2);
  CHECK(halves.mark == kGap + kLength / 2);
  CHECK(length_at(1).timeline.makespan == tasks * kLength / 10);

  SUBCASE("nothing is taken out of what is short enough") {
    const Unmarked same = without_marks(program, groups, marked, marked.makespan, true);
    CHECK(same.mark == 0);
    CHECK(same.timeline.end == marked.end);
  }
}

}  // namespace marks_test
