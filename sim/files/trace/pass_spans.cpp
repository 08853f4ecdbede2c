#include "trace/pass_spans.hpp"

#include "base/cancellation.hpp"

#include <algorithm>
#include <optional>

namespace mirfak {

namespace {

bool is_pass(TaskKind kind) {
  return kind == TaskKind::forward || kind == TaskKind::backward || kind == TaskKind::weight_gradient ||
         kind == TaskKind::optimizer;
}

std::optional<PassSpan> pass_of(const Program& program, TaskId task) {
  const TaskClass& own = program.class_of(task);
  if (is_pass(own.kind)) return PassSpan{own.kind, own.chunk, program.microbatch[task]};
  for (const TaskId before : program.dependencies_of(task)) {
    const TaskClass& issue = program.class_of(before);
    if (issue.kind != TaskKind::issue || !is_pass(issue.issues)) continue;
    return PassSpan{issue.issues, issue.chunk, program.microbatch[task]};
  }
  return std::nullopt;
}

// Returns the span that `next` continues: the last span, or, for a pair of passes, the span before the last.
PassSpan* span_of(std::vector<PassSpan>& spans, const PassSpan& next) {
  const std::size_t from = spans.size() - std::min<std::size_t>(spans.size(), 2);
  const auto found = std::find_if(spans.begin() + static_cast<std::ptrdiff_t>(from), spans.end(),
                                  [&](const PassSpan& span) { return span.same_pass(next); });
  return found == spans.end() ? nullptr : &*found;
}

}  // namespace

std::vector<PassSpan> pass_spans(const Program& program, const Timeline& timeline,
                                 std::span<const TaskId> compute_tasks) {
  std::vector<PassSpan> spans;
  CancellationSteps steps;
  for (const TaskId task : compute_tasks) {
    steps.step();
    auto span = pass_of(program, task);
    if (!span) continue;
    span->start = timeline.start[task];
    span->end = timeline.end[task];
    span->busy = span->end - span->start;
    if (PassSpan* known = span_of(spans, *span)) {
      known->end = span->end;
      known->busy += span->busy;
    } else {
      spans.push_back(*span);
    }
  }
  return spans;
}

}  // namespace mirfak
