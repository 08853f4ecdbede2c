#pragma once

#include "alpa/choice_problem.hpp"

#include <cmath>
#include <functional>
#include <limits>
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

// Changes choices that cannot meet, one decision at a time, until they can or nothing helps.
inline void make_possible(const alpa::ChoiceProblem& problem, std::vector<int>& choices) {
  const auto clashes = [&] {
    int count = 0;
    for (const alpa::ChoiceProblem::Transfer& transfer : problem.transfers) {
      for (const alpa::ChoiceProblem::Transfer::Reader& reader : transfer.readers) {
        const int group = transfer.group[static_cast<std::size_t>(choices[static_cast<std::size_t>(transfer.source)])];
        const int form = reader.form[static_cast<std::size_t>(choices[static_cast<std::size_t>(reader.decision)])];
        if (!std::isfinite(transfer.cost(group, form).seconds)) ++count;
      }
    }
    return count;
  };
  int left = clashes();
  for (std::size_t i = 0; i < choices.size() && left > 0; ++i) {
    const int first = choices[i];
    const int count = static_cast<int>(problem.decisions[i].costs.size());
    for (int step = 1; step < count; ++step) {
      const int before = choices[i];
      choices[i] = (first + step) % count;
      const int now = clashes();
      if (now < left) {
        left = now;
      } else {
        choices[i] = before;
      }
    }
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
