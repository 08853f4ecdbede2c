#pragma once

#include "replay/replay.hpp"

#include <optional>
#include <string>
#include <vector>

namespace mirfak {

// What --ideal-... and --speed of `mirfak replay` say.
struct ReplayQuestions {
  std::vector<int> ranks;
  std::vector<int> data_ranks;
  std::vector<int> stages;
  std::vector<std::string> operations;
  std::vector<std::string> speeds;  // "stage=3:1.2"
};

// The what-if, nullopt without a question. Error(input) for what the trace does not have.
std::optional<WhatIf> what_if(const ReplayQuestions& questions, const MeasuredTrace& trace);
// The same in words, for a table.
std::string question_text(const ReplayQuestions& questions);

}  // namespace mirfak
