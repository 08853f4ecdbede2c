#pragma once

#include "alpa/integer_program.hpp"

#include <limits>
#include <string>
#include <vector>

namespace mirfak::alpa {

// One choice for each of some decisions, so that what they cost alone and together is least: the form of Alpa's
// intra-operator program (arXiv 2201.12023, equation 1), whose decisions are how operators divide their labels and how
// tensors lie. Seconds are minimized; memory is bounded.
//
// Bytes are of two kinds, because a pipeline stage keeps the activations of several microbatches: state is there once,
// activations `in_flight` times.
struct Cost {
  double seconds = 0;
  double state_bytes = 0;
  double activation_bytes = 0;

  Cost& operator+=(const Cost& other);
};

struct ChoiceProblem {
  struct Decision {
    std::string name;
    std::vector<Cost> costs;  // of each choice by itself; infinite seconds: it cannot be taken
  };
  // What some decisions (readers) want of another (the source): a tensor that lies so and is wanted otherwise. What
  // matters of a choice of the source is its group, of a reader's its form. Each pair of group and form is paid once,
  // however many readers want it: they share the copy.
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
  double memory_limit = std::numeric_limits<double>::infinity();  // of state_bytes + in_flight * activation_bytes

  double longest = std::numeric_limits<double>::infinity();  // seconds beyond which no choice is wanted

  double bytes(const Cost& cost) const { return cost.state_bytes + in_flight * cost.activation_bytes; }
};

// What one choice for each decision costs in all; infinite seconds if it cannot be taken.
Cost cost_of(const ChoiceProblem& problem, const std::vector<int>& choices);

struct ChoiceSolution {
  IntegerProgram::Status status{};
  std::vector<int> choices;  // by decision; empty: none was found
  Cost cost;
  int variables = 0;  // of the integer program
  int rows = 0;
  bool relaxation_was_integral = false;
};

// The integer program of the problem as it stands; `cost` is left to the caller.
ChoiceSolution solve_program(const ChoiceProblem& problem, double time_limit_s);

// The best choices: first without the memory limit, whose optimum is the answer if it fits, then with it; each time by
// the integer program of what ChoiceReduction leaves. `cut_short` with choices: the best found within `time_limit_s` of
// the solver, not proven to be the best; without: nothing was found in time. `infeasible`: nothing fits.
ChoiceSolution solve(const ChoiceProblem& problem, double time_limit_s);

}  // namespace mirfak::alpa
