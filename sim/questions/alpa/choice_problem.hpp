#pragma once

#include "alpa/integer_program.hpp"

#include <limits>
#include <string>
#include <vector>

namespace mirfak::alpa {

// A choice problem takes one choice for each decision such that the cost of single choices and of pairs is least: the
// form of Alpa's intra-operator program (arXiv 2201.12023, equation 1), whose decisions are how operators divide their
// labels and how tensors lie. Seconds are minimized; memory is bounded.
//
// Bytes are of two kinds, because a pipeline stage keeps the activations of several microbatches: state exists once,
// activations exist `in_flight` times.
struct Cost {
  double seconds = 0;
  double state_bytes = 0;
  double activation_bytes = 0;

  Cost& operator+=(const Cost& other);
};

struct ChoiceProblem {
  struct Decision {
    std::string name;
    std::vector<Cost> costs;  // cost of each choice by itself; infinite seconds: it cannot be taken
  };
  // Transfer of a tensor from the sharding that one decision (the source) gives it to the shardings that other
  // decisions (readers) need. A choice of the source counts only by its group, a choice of a reader only by its form.
  // Each pair of group and form is paid once, however many readers need it: they share the copy.
  struct Transfer {
    struct Reader {
      int decision = 0;
      std::vector<int> form;  // by choice
    };
    std::string name;
    int source = 0;
    std::vector<int> group;  // by choice of the source
    std::vector<Reader> readers;
    int groups = 0;
    int forms = 0;
    std::vector<Cost> costs;  // [group * forms + form]; infinite seconds: the two cannot meet

    const Cost& cost(int of_group, int form) const { return costs[static_cast<std::size_t>(of_group * forms + form)]; }
  };

  std::vector<Decision> decisions;
  std::vector<Transfer> transfers;
  double in_flight = 1;
  double memory_limit = std::numeric_limits<double>::infinity();  // for state_bytes + in_flight * activation_bytes

  double longest = std::numeric_limits<double>::infinity();  // choices that take more seconds are not wanted

  double bytes(const Cost& cost) const { return cost.state_bytes + in_flight * cost.activation_bytes; }
};

// Returns the total cost of one choice for each decision; infinite seconds if these cannot be taken.
Cost cost_of(const ChoiceProblem& problem, const std::vector<int>& choices);

struct ChoiceSolution {
  IntegerProgram::Status status{};
  std::vector<int> choices;  // by decision; empty: none was found
  Cost cost;
  int variables = 0;  // variables of the integer program
  int rows = 0;
  bool relaxation_was_integral = false;
};

// Solves the integer program of the problem as it is; the caller fills in `cost`.
ChoiceSolution solve_program(const ChoiceProblem& problem, double time_limit_s);

// Returns the best choices: first without the memory limit, whose optimum is the answer if it fits, then with the
// limit; each time by the integer program of the problem that ChoiceReduction leaves. `cut_short` with choices: the
// best choices found within `time_limit_s` of the solver, not proven to be the best. `cut_short` without choices:
// nothing was found in time. `infeasible`: nothing fits.
ChoiceSolution solve(const ChoiceProblem& problem, double time_limit_s);

}  // namespace mirfak::alpa
