#pragma once

#include "base/document.hpp"
#include "program/job.hpp"
#include "simulation/iteration.hpp"
#include "strategy/rule_expression.hpp"

#include <string>
#include <vector>

namespace mirfak {

// Conditions on the result of an iteration, the section `assert` of a scenario: "iteration_time_s < 20", "fits", "mfu >
// 0.4 and memory_headroom > 0.05". They name the single figures of its JSON (result_values), in the language of
// search.rules.
using Assertions = std::vector<RuleExpression>;

// A list of conditions, or one. Error(input) at the character that is wrong, with the nearest name.
Assertions read_assertions(const Node& node);

// What of a result does not hold.
struct BrokenAssertion {
  std::string text;        // "scenario.yaml:9:5: iteration_time_s < 15: is 16.0, 1.00 (6.7 %) too much"
  bool straddles = false;  // within the range of the prediction it would hold
};
struct AssertionResult {
  std::vector<BrokenAssertion> broken;
  std::vector<std::string> close;  // those that hold, and would not somewhere in the range; in words
};

// Error(input) at an assertion on a figure that is not known, such as a cost without a price.
AssertionResult check_assertions(const Assertions& assertions, const Job& job, const IterationResult& result);

// "2 assertions do not hold:" and a line each, as a command complains.
std::string broken_text(const AssertionResult& result);

}  // namespace mirfak
