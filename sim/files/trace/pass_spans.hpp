#pragma once

#include "engine/timeline.hpp"
#include "program/program.hpp"

#include <span>
#include <vector>

namespace mirfak {

// One pass of a rank, or its optimizer step, from the start of its first task to the end of its last.
struct PassSpan {
  TaskKind kind{};  // forward, backward, weight_gradient or optimizer
  std::int32_t chunk = -1;
  std::int32_t microbatch = -1;
  Picoseconds start = 0;
  Picoseconds end = 0;
  Picoseconds busy = 0;  // time of its own tasks within the span

  bool same_pass(const PassSpan& other) const {
    return kind == other.kind && chunk == other.chunk && microbatch == other.microbatch;
  }
};

// Returns the passes that consist of the tasks of one compute stream, in the order of their first tasks. A program may
// hold a pass as one task, in parts, or as its kernels: a kernel belongs to the pass that the host issued it for. Two
// passes that run as a pair take turns kernel by kernel: their spans overlap.
std::vector<PassSpan> pass_spans(const Program& program, const Timeline& timeline,
                                 std::span<const TaskId> compute_tasks);

}  // namespace mirfak
