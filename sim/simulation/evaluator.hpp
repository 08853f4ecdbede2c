#pragma once

#include "simulation/iteration.hpp"

#include <list>
#include <vector>

namespace mirfak {

// Simulates many jobs of one model on one cluster. What only the size of the global batch tells apart shares its
// sharded and priced blocks, the most costly part of a small simulation; the last few such families are kept, so jobs
// that differ in nothing else should come one after the other. For one thread.
class Evaluator {
 public:
  explicit Evaluator(std::size_t families_kept = 8);
  ~Evaluator();
  Evaluator(const Evaluator&) = delete;
  Evaluator& operator=(const Evaluator&) = delete;

  // simulate(job).result, to the bit; errors too. All jobs given to one evaluator have equal models and clusters.
  const IterationResult& evaluate(const Job& job);

  std::size_t families() const { return made_; }  // that were sharded and priced so far

 private:
  struct Family;
  Family& family_of(const Job& job);

  std::size_t kept_;
  std::size_t made_ = 0;
  std::list<Family> families_;  // the last used first
};

}  // namespace mirfak
