#pragma once

#include <limits>
#include <vector>

namespace mirfak::alpa {

// A linear program in which some variables are 0 or 1, and its solver (COIN-OR CBC, which uses the simplex method of
// Clp). Only this header connects the rest of mirfak with the solver, which is loaded when it is first called.
class IntegerProgram {
 public:
  struct Term {
    int variable = 0;
    double coefficient = 0;
  };
  struct Row {
    std::vector<Term> terms;
    double low = 0;
    double high = 0;
  };
  // A whole program. `limit`: number of the row of add_limit(); -1: there is none.
  struct Rows {
    std::vector<double> costs;  // by variable
    std::vector<bool> binary;   // by variable
    std::vector<Row> rows;
    int limit = -1;
  };
  enum class Status {
    optimal,     // proven
    infeasible,  // proven, or the cutoff excludes every solution
    cut_short,   // the time limit was reached: `values` are the best found, or empty
  };
  struct Solution {
    Status status{};
    double objective = 0;
    std::vector<double> values;            // by variable; empty: no solution was found
    bool relaxation_was_integral = false;  // no branching was needed
  };

  // Minimizes the sum of cost times value. Variables are numbered from 0 in the order in which they are added.
  int add_binary(double cost);                               // 0 or 1
  int add_share(double cost);                                // at least 0, continuous
  void add_equation(std::vector<Term> terms, double right);  // sum = right
  void add_at_most(std::vector<Term> terms, double right);   // sum <= right

  // Adds a row (sum <= right) that all choices share; without this row the relaxation is usually integral. At most one.
  void add_limit(std::vector<Term> terms, double right);

  int variables() const { return static_cast<int>(all_.costs.size()); }
  int rows() const { return static_cast<int>(all_.rows.size()); }

  // Solves the program. The caller scales costs such that differences below 1e-6 do not matter. Solutions that cost
  // more than `cutoff` count as infeasible. Error(internal) if the solver gives up for another reason than those of
  // Status.
  Solution solve(double time_limit_s, double cutoff = std::numeric_limits<double>::infinity()) const;

 private:
  Rows all_;
};

}  // namespace mirfak::alpa
