#pragma once

#include "replay/replay.hpp"

#include <optional>
#include <string>
#include <vector>

namespace mirfak {

// Values of the options --ideal-... and --speed of `mirfak replay`.
struct ReplayQuestions {
  std::vector<int> ranks;
  std::vector<int> data_ranks;
  std::vector<int> stages;
  std::vector<std::string> operations;
  std::vector<std::string> speeds;  // "stage=3:1.2"
};

// Returns the what-if of the questions; nullopt without a question. Error(input) for ranks, stages or operations that
// the trace does not have.
std::optional<WhatIf> what_if(const ReplayQuestions& questions, const MeasuredTrace& trace);
// Returns the questions in words, for a table.
std::string question_text(const ReplayQuestions& questions);

}  // namespace mirfak
