#pragma once

#include "replay/replay_questions.hpp"
#include "replay/straggler_analysis.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace mirfak {

// The tables to replay, and the questions about them.
struct ReplayInputs {
  std::filesystem::path trace;
  std::filesystem::path dependencies;  // empty: they follow from the trace; given if and only if `groups` is
  std::filesystem::path groups;
  std::filesystem::path ideal;  // empty: durations without stragglers are means and medians of the trace
  ReplayQuestions questions;
  std::optional<int> step;  // step to be looked at more closely: checked before the work
};

// A trace of operations, executed again.
struct ReplayedTrace {
  Replay replay;
  std::optional<WhatIf> question;
  std::string asked;  // the question in words; empty: nothing is asked
  StragglerAnalysis analysis;
  std::vector<std::string> notes;  // sentences

  // Returns the program of a step as it is replayed, under the question if there is one.
  Program program(std::size_t index) const { return replay.program(index, question.value_or(WhatIf{})); }
};

// Reads the tables, replays the trace and analyses it. Error(input) as of the readers of the tables, with the place,
// and for questions about ranks, stages or operations that the trace does not have.
ReplayedTrace replay_trace(const ReplayInputs& inputs);

// Returns the index of the trace's step with this number; nullopt: the first step. Error(input) for a step that the
// trace does not have.
std::size_t step_index(const MeasuredTrace& trace, std::optional<int> step);

}  // namespace mirfak
