#include "trace/pass_spans.hpp"

#include <array>
#include <optional>
#include <string>

namespace mirfak {

namespace {

constexpr std::array kPassKinds = {TaskKind::forward, TaskKind::backward, TaskKind::weight_gradient,
                                   TaskKind::optimizer};

bool is_pass(TaskKind kind) {
  for (const TaskKind pass : kPassKinds) {
    if (pass == kind) return true;
  }
  return false;
}

// "issue backward" is the host's work on a backward pass.
std::optional<TaskKind> issued_pass(const TaskClass& issue) {
  for (const TaskKind pass : kPassKinds) {
    if (issue.name.starts_with("issue " + std::string(name_of(pass)))) return pass;
  }
  return std::nullopt;
}

std::optional<PassSpan> pass_of(const Program& program, TaskId task) {
  const TaskClass& own = program.class_of(task);
  if (is_pass(own.kind)) return PassSpan{own.kind, own.chunk, program.microbatch[task]};
  for (const TaskId before : program.dependencies_of(task)) {
    const TaskClass& issue = program.class_of(before);
    if (issue.kind != TaskKind::issue) continue;
    if (const auto kind = issued_pass(issue)) return PassSpan{*kind, issue.chunk, program.microbatch[task]};
  }
  return std::nullopt;
}

}  // namespace

std::vector<PassSpan> pass_spans(const Program& program, const Timeline& timeline,
                                 std::span<const TaskId> compute_tasks) {
  std::vector<PassSpan> spans;
  for (const TaskId task : compute_tasks) {
    auto span = pass_of(program, task);
    if (!span) continue;
    span->start = timeline.start[task];
    span->end = timeline.end[task];
    if (!spans.empty() && spans.back().same_pass(*span)) {
      spans.back().end = span->end;
    } else {
      spans.push_back(*span);
    }
  }
  return spans;
}

}  // namespace mirfak
