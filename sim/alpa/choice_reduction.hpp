#pragma once

#include "alpa/choice_problem.hpp"

#include <map>
#include <utility>
#include <vector>

namespace mirfak::alpa {

// A smaller choice problem with the same least cost.
//
// A decision that meets one other alone (a parameter and the operator that reads it) takes what is best for each choice
// of the other. Without a memory limit so does one that meets two others: they then meet each other. Blocks of layers
// in a row vanish altogether so, and the integer program keeps what goes round in circles. Under a limit what is fast
// may be large, so what a lone neighbour leaves are the choices that no other beats in both.
class ChoiceReduction {
 public:
  explicit ChoiceReduction(const ChoiceProblem& problem);

  const ChoiceProblem& reduced() const { return reduced_; }
  // Choices for all decisions of the problem, from those for the reduced one's.
  std::vector<int> restore(const std::vector<int>& choices) const;

 private:
  using Pair = std::pair<int, int>;  // decisions, the lower first
  using Table = std::vector<Cost>;   // [choice of the first * choices of the second + choice of the second]
  struct Removed {
    int decision = 0;
    std::vector<int> neighbours;  // none, one or two
    std::vector<int> best;  // by choice of the neighbours, the first's times those of the second plus the second's
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
  std::vector<bool> shared_;  // among the readers, or the source, of a copy that several decisions share
  std::map<Pair, Table> pairs_;
  std::vector<ChoiceProblem::Transfer> copies_;
  std::vector<Removed> removed_;
  std::vector<int> kept_;  // decisions of the reduced problem, as places in the problem
  ChoiceProblem reduced_;
};

}  // namespace mirfak::alpa
