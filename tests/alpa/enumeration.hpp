#pragma once

#include "alpa/choice_problem.hpp"

#include <functional>
#include <vector>

namespace mirfak::test {

// Calls `visit` with every choice for all decisions.
inline void for_all_choices(const alpa::ChoiceProblem& problem,
                            const std::function<void(const std::vector<int>&)>& visit) {
  std::vector<int> choices(problem.decisions.size(), 0);
  while (true) {
    visit(choices);
    std::size_t i = 0;
    while (i < choices.size() && ++choices[i] == static_cast<int>(problem.decisions[i].costs.size())) choices[i++] = 0;
    if (i == choices.size()) return;
  }
}

// The least seconds of all choices that fit; infinite: none does.
inline double least_seconds(const alpa::ChoiceProblem& problem) {
  double least = std::numeric_limits<double>::infinity();
  for_all_choices(problem, [&](const std::vector<int>& choices) {
    const alpa::Cost cost = cost_of(problem, choices);
    if (problem.bytes(cost) <= problem.memory_limit && cost.seconds < least) least = cost.seconds;
  });
  return least;
}

}  // namespace mirfak::test
