#pragma once

#include "alpa/choice_problem.hpp"

#include <map>
#include <utility>
#include <vector>

namespace mirfak::alpa {

// A smaller choice problem with the same least cost.
//
// A decision with a single neighbour (a parameter and the operator that reads it) takes its best choice for each choice
// of the neighbour. Without a memory limit, a decision with two neighbours does so too: the two are then neighbours of
// each other. Rows of consecutive layers vanish altogether in this way, and the integer program keeps only the cycles.
// Under a limit a fast choice may be large, so a decision with a single neighbour keeps the choices that no other
// choice beats in both time and memory.
class ChoiceReduction {
 public:
  explicit ChoiceReduction(const ChoiceProblem& problem);

  const ChoiceProblem& reduced() const { return reduced_; }
  // Returns choices for all decisions of the problem, given the choices of the reduced problem.
  std::vector<int> restore(const std::vector<int>& choices) const;

 private:
  using Pair = std::pair<int, int>;  // decisions, the lower first
  using Table = std::vector<Cost>;   // [choice of the first * choices of the second + choice of the second]
  struct Removed {
    int decision = 0;
    std::vector<int> neighbours;  // none, one or two
    std::vector<int> best;        // index: choice of the first neighbour * choices of the second + choice of the second
  };

  int count(int decision) const { return static_cast<int>(costs_[static_cast<std::size_t>(decision)].size()); }
  void add_pair(const ChoiceProblem::Transfer& transfer, const std::vector<int>& decisions);
  std::vector<int> neighbours(int decision) const;
  Cost met(int decision, int choice, int neighbour, int of_neighbour) const;
  bool remove_one();
  void remove(int decision, const std::vector<int>& neighbours);
  bool thin_out(int decision, int neighbour);
  std::vector<int> unbeaten(int decision, int neighbour, int of_neighbour) const;
  void write_reduced(const ChoiceProblem& problem);
  void write_pair(const Pair& pair, const Table& table);

  bool limited_;
  double in_flight_;
  std::vector<std::vector<Cost>> costs_;
  std::vector<bool> gone_;
  std::vector<bool> thinned_;
  std::vector<bool> shared_;  // readers and source of a copy that several decisions share
  std::map<Pair, Table> pairs_;
  std::vector<ChoiceProblem::Transfer> copies_;
  std::vector<Removed> removed_;
  std::vector<int> kept_;  // decisions of the reduced problem, as indices of the problem
  ChoiceProblem reduced_;
};

}  // namespace mirfak::alpa
