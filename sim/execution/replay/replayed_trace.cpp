#include "replay/replayed_trace.hpp"

#include "base/error.hpp"
#include "replay/derived_graph.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace mirfak {

namespace {

StepGraph graph_of(const ReplayInputs& inputs, const MeasuredTrace& trace, std::vector<std::string>& notes) {
  if (inputs.dependencies.empty() != inputs.groups.empty()) {
    const bool groups = inputs.groups.empty();
    fail_input(
        {}, fmt::format("{} needs {}", groups ? "--dependencies" : "--groups", groups ? "--groups" : "--dependencies"),
        "give both, or none: then they follow from the trace");
  }
  if (!inputs.dependencies.empty()) {
    return read_step_graph(CsvTable::from_file(inputs.dependencies), CsvTable::from_file(inputs.groups));
  }
  notes.emplace_back("no dependencies were given: they follow from the order of the operations in the trace");
  return derive_step_graph(trace);
}

}  // namespace

std::size_t step_index(const MeasuredTrace& trace, std::optional<int> step) {
  if (!step) return 0;
  const auto found = std::find(trace.steps.begin(), trace.steps.end(), *step);
  if (found != trace.steps.end()) return static_cast<std::size_t>(found - trace.steps.begin());
  fail_input({}, fmt::format("--step: {} has no step {}", trace.name, *step),
             fmt::format("it has {}", fmt::join(trace.steps, ", ")));
}

ReplayedTrace replay_trace(const ReplayInputs& inputs) {
  MeasuredTrace trace = read_measured_trace(inputs.trace);
  std::optional<WhatIf> question = what_if(inputs.questions, trace);
  step_index(trace, inputs.step);
  std::vector<std::string> notes;
  StepGraph graph = graph_of(inputs, trace, notes);
  std::optional<std::vector<IdealDuration>> ideal;
  if (!inputs.ideal.empty()) ideal = read_ideal_durations(CsvTable::from_file(inputs.ideal));
  Replay replay(std::move(trace), std::move(graph), std::move(ideal));
  StragglerAnalysis analysis = analyse_stragglers(replay, question);
  return {std::move(replay), std::move(question), question_text(inputs.questions), std::move(analysis),
          std::move(notes)};
}

}  // namespace mirfak
