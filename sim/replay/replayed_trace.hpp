#pragma once

#include "replay/replay_questions.hpp"
#include "replay/straggler_analysis.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace mirfak {

// The tables that are replayed, and what is asked of them.
struct ReplayInputs {
  std::filesystem::path trace;
  std::filesystem::path dependencies;  // empty: they follow from the trace; both this and the next are given, or none
  std::filesystem::path groups;
  std::filesystem::path ideal;  // empty: durations without stragglers are means and medians of the trace
  ReplayQuestions questions;
  std::optional<int> step;  // that will be looked at more closely: checked before the work
};

// A trace of operations, executed again.
struct ReplayedTrace {
  Replay replay;
  std::optional<WhatIf> question;
  std::string asked;  // the same in words; empty: nothing is asked
  StragglerAnalysis analysis;
  std::vector<std::string> notes;  // sentences

  // A step as it is replayed, under the question where there is one.
  Program program(std::size_t index) const { return replay.program(index, question.value_or(WhatIf{})); }
};

// Error(input) with its place as of the readers of the tables, and for questions about what the trace does not have.
ReplayedTrace replay_trace(const ReplayInputs& inputs);

// Which of the trace's steps has this number; nullopt: the first. Error(input) for a step that it does not have.
std::size_t step_index(const MeasuredTrace& trace, std::optional<int> step);

}  // namespace mirfak
