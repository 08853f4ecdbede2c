#pragma once

#include "base/document.hpp"
#include "program/job.hpp"
#include "simulation/iteration.hpp"
#include "strategy/rule_expression.hpp"
#include "training/prediction.hpp"

#include <string>
#include <vector>

namespace mirfak {

// Conditions on results, the section `assert` of a scenario, in the language of search.rules. They name the single
// figures of an iteration by their keys in JSON (iteration_figures): "iteration_time_s < 20", "fits", "mfu > 0.4 and
// memory_headroom > 0.05", and those of a whole training behind "train." (training_figures): "train.goodput > 0.9".
using Assertions = std::vector<RuleExpression>;

// A list of conditions, or one. Error(input) at the character that is wrong, with the nearest name.
Assertions read_assertions(const Node& node);

// What of a result does not hold.
struct BrokenAssertion {
  std::string text;        // "scenario.yaml:9:5: iteration_time_s < 15: is 16.0, 1.00 (6.7 %) too much"
  bool straddles = false;  // within the range of the prediction, or by chance, it would hold
};
struct AssertionResult {
  std::vector<BrokenAssertion> broken;
  // In words: those that hold, and would not somewhere in the range of the prediction, or if chance in the simulated
  // runs had gone two standard errors otherwise; and those that are not of what was simulated.
  std::vector<std::string> notes;
};

// Error(input) at an assertion on a figure that is not known, such as a cost without a price.
AssertionResult check_assertions(const Assertions& assertions, const Job& job, const IterationResult& result);

// ... of a whole training, and of its iterations with the full batch.
AssertionResult check_assertions(const Assertions& assertions, const Job& job, const TrainingPrediction& prediction);

// Of a command that checks none: which ones do. None where there are no assertions.
std::vector<std::string> notes_unchecked(const Assertions& assertions);

// A sentence for each that does not hold, and the notes: for callers that have no exit status.
std::vector<std::string> notes_on_assertions(const AssertionResult& result);

// "2 assertions do not hold:" and a line each, as a command complains.
std::string broken_text(const AssertionResult& result);

}  // namespace mirfak
