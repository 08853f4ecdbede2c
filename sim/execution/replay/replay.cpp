#include "replay/replay.hpp"

#include "base/averages.hpp"
#include "base/text.hpp"
#include "engine/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace mirfak {

namespace {

constexpr double kMostSeconds = 8.64e6;  // 100 days: what picoseconds can hold, of all operations of a step together

bool any_holds(const std::vector<OperationSet>& sets, const MeasuredRank& rank, OperationKindId kind) {
  return std::any_of(sets.begin(), sets.end(), [&](const OperationSet& set) { return set.holds(rank, kind); });
}

bool computes(OperationKindId kind) { return operation_kinds()[kind].stream == StreamKind::compute; }

}  // namespace

bool OperationSet::holds(const MeasuredRank& of, OperationKindId kind) const {
  const OperationKind& described = operation_kinds()[kind];
  return (!rank || *rank == of.number) && (!data || *data == of.data) && (!stage || *stage == of.stage) &&
         (type.empty() || type == described.name || type == described.category);
}

std::vector<IdealDuration> read_ideal_durations(const CsvTable& table) {
  constexpr double longest = 1e6;
  const std::size_t type = table.require("optype");
  const std::size_t seconds = table.require("ideal_s");
  std::vector<IdealDuration> out;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const std::string& name = table.text(row, type);
    const auto kind = find_operation_kind(name);
    if (!kind) {
      const std::vector<std::string> names = operation_kind_names();
      fail_input(table.where(row, type), fmt::format("unknown operation '{}'", excerpt(name)),
                 did_you_mean(name, names, "expected " + join_or(names)));
    }
    for (const IdealDuration& known : out) {
      if (known.kind == *kind) table.fail(row, type, fmt::format("{} has a duration already", name));
    }
    out.push_back({*kind, 0, table.number(row, seconds, 0, longest)});
  }
  return out;
}

Replay::Replay(MeasuredTrace trace, StepGraph graph, std::optional<std::vector<IdealDuration>> ideal)
    : trace_(std::move(trace)),
      graph_(std::move(graph)),
      recorded_(match_steps(trace_, graph_)),
      step_(build_step_program(trace_, graph_, recorded_)) {
  find_own_times();
  find_ideal();
  if (ideal) take_ideal(std::move(*ideal));
  for (const IdealDuration& of : ideal_) ideal_s_[of.kind] = of.seconds;
}

OperationKindId Replay::kind_of(std::size_t instance) const {
  return graph_.operations[instance % graph_.operations.size()].name.kind;
}

// Computes own times. Members of a group begin after one meeting, which is the only thing that they wait for.
void Replay::find_own_times() {
  const std::size_t instances = recorded_.instances();
  own_s_.resize(trace_.operations.size());
  const Program& program = step_.program;
  std::vector<double> latest(program.size());
  const auto meeting = [&](std::size_t instance) {
    const TaskId task = step_.task_of[instance];
    const auto before = program.dependencies_of(task);
    const bool meets = before.size() == 1 && program.class_of(before.front()).kind == TaskKind::meeting;
    return meets ? before.front() : task;
  };
  for (std::size_t step = 0; step < steps(); ++step) {
    std::fill(latest.begin(), latest.end(), -std::numeric_limits<double>::infinity());
    double together = 0;
    for (std::size_t i = 0; i < instances; ++i) {
      double& start = latest[meeting(i)];
      start = std::max(start, trace_.operations[recorded_.operation(step, i)].start_s);
    }
    for (std::size_t i = 0; i < instances; ++i) {
      const double end = trace_.operations[recorded_.operation(step, i)].end_s();
      own_s_[step * instances + i] = std::max(0.0, end - latest[meeting(i)]);
      together += own_s_[step * instances + i];
    }
    check_length(together, step);
  }
}

void Replay::check_length(double seconds, std::size_t step) const {
  if (seconds <= kMostSeconds) return;
  fail_input(
      {trace_.name, 0, 0},
      fmt::format("the operations of step {} take {:.3g} s together, more than 100 days", trace_.steps[step], seconds),
      "durations are in seconds");
}

void Replay::find_ideal() {
  std::vector<std::vector<double>> of_kind(operation_kinds().size());
  for (std::size_t i = 0; i < own_s_.size(); ++i) {
    of_kind[kind_of(i % recorded_.instances())].push_back(own_s_[i]);
  }
  ideal_s_.assign(of_kind.size(), 0);
  for (std::size_t kind = 0; kind < of_kind.size(); ++kind) {
    if (of_kind[kind].empty()) continue;
    const double seconds = operation_kinds()[kind].mean ? mean(of_kind[kind]) : median(of_kind[kind]);
    ideal_.push_back({static_cast<OperationKindId>(kind), of_kind[kind].size(), seconds});
  }
}

void Replay::take_ideal(std::vector<IdealDuration> stated) {
  for (IdealDuration& own : ideal_) {
    const auto found =
        std::find_if(stated.begin(), stated.end(), [&](const IdealDuration& other) { return other.kind == own.kind; });
    if (found == stated.end()) {
      fail_input({trace_.name, 0, 0},
                 fmt::format("the durations without stragglers lack {}", operation_kinds()[own.kind].name),
                 "add it to the table of --ideal, or leave --ideal out");
    }
    own.seconds = found->seconds;
  }
}

double Replay::measured_s(std::size_t step) const {
  double end = 0;
  for (std::size_t i = 0; i < recorded_.instances(); ++i) {
    end = std::max(end, trace_.operations[recorded_.operation(step, i)].end_s());
  }
  return end;
}

std::vector<Replay::Rule> Replay::rules(const WhatIf& what) const {
  std::vector<Rule> out(recorded_.instances());
  for (std::size_t i = 0; i < out.size(); ++i) {
    const MeasuredRank& rank = trace_.ranks[recorded_.rank_of[i]];
    const OperationKindId kind = kind_of(i);
    out[i].ideal = any_holds(what.ideal, rank, kind) && !any_holds(what.except, rank, kind);
    for (const Speed& speed : what.speeds) {
      if (!speed.of.holds(rank, kind) || (speed.of.type.empty() && !computes(kind))) continue;
      out[i].speed *= speed.factor;
    }
  }
  return out;
}

void Replay::set_durations(Program& program, std::size_t step, const std::vector<Rule>& rules) const {
  double together = 0;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const double seconds = (rules[i].ideal ? ideal_s_[kind_of(i)] : own_s(step, i)) / rules[i].speed;
    together += seconds;
    check_length(together, step);
    program.duration[step_.task_of[i]] = to_picoseconds(seconds);
  }
}

std::vector<double> Replay::times_s(const WhatIf& what) const {
  const std::vector<Rule> of = rules(what);
  // If every operation takes its type's time, all steps are the same.
  const bool alike = std::all_of(of.begin(), of.end(), [](const Rule& rule) { return rule.ideal; });
  Program program = step_.program;
  Sweep sweep;
  std::vector<double> out;
  for (std::size_t step = 0; step < steps(); ++step) {
    if (alike && step > 0) {
      out.push_back(out.front());
      continue;
    }
    set_durations(program, step, of);
    out.push_back(to_seconds(sweep.makespan(program)));
  }
  return out;
}

double Replay::mean_time_s(const WhatIf& what) const { return mean(times_s(what)); }

Program Replay::program(std::size_t step, const WhatIf& what) const {
  Program out = step_.program;
  set_durations(out, step, rules(what));
  return out;
}

}  // namespace mirfak
