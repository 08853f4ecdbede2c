#pragma once

#include "base/document.hpp"
#include "formula/condition.hpp"
#include "program/job.hpp"
#include "simulation/iteration.hpp"
#include "training/prediction.hpp"

#include <string>
#include <vector>

namespace mirfak {

struct FigureValue;

// Conditions on results, the section `assert` of a scenario, in the language of search.rules. A condition names the
// single figures of an iteration by their keys in JSON (iteration_figures): "iteration_time_s < 20", "fits", "mfu > 0.4
// and memory_headroom > 0.05", and the figures of a whole training after "train." (training_figures): "train.goodput >
// 0.9".
using Assertions = std::vector<formula::Condition>;

// Reads one condition, or a list of conditions. Error(input) at the faulty character, with the nearest name.
Assertions read_assertions(const Node& node);

// An assertion that does not hold for a result.
struct BrokenAssertion {
  std::string text;        // "scenario.yaml:9:5: iteration_time_s < 15: is 16.0, 1.00 (6.7 %) too much"
  bool straddles = false;  // it would hold within the range of the prediction, or by chance
};
struct AssertionResult {
  std::vector<BrokenAssertion> broken;
  // Sentences on two kinds of assertions: those that hold, but would not hold somewhere in the range of the prediction,
  // or if the simulated runs had differed by two standard errors; and those that are about something that was not
  // simulated.
  std::vector<std::string> notes;
};

// Checks the assertions on an iteration. Error(input) at an assertion on a figure that is not known, such as a cost
// without a price.
AssertionResult check_assertions(const Assertions& assertions, const Job& job, const IterationResult& result);

// Checks the assertions on figures of something else than a job, whose range is not known. `values`: in the order of
// iteration_figures(). Error(input) as above.
AssertionResult check_assertions(const Assertions& assertions, const std::vector<FigureValue>& values);

// Checks the assertions on a whole training, and on its iterations with the full batch.
AssertionResult check_assertions(const Assertions& assertions, const Job& job, const TrainingPrediction& prediction);

// Returns the notes of a command that checks no assertions: which commands check them. Empty if there are no
// assertions.
std::vector<std::string> notes_unchecked(const Assertions& assertions);

// Returns a sentence for each assertion that does not hold, and the notes: for callers that have no exit status.
std::vector<std::string> notes_on_assertions(const AssertionResult& result);

// Returns "2 assertions do not hold" and a line for each, as a command's error message.
std::string broken_text(const AssertionResult& result);

}  // namespace mirfak
