#pragma once

#include "simulation/iteration.hpp"

#include <list>
#include <vector>

namespace mirfak {

// Simulates many jobs of one model on one cluster. Jobs that differ only in the size of the global batch form a family
// and share its sharded and priced blocks, the most costly part of a small simulation. The last few families are kept,
// so jobs of one family should come one after the other. For one thread.
class Evaluator {
 public:
  explicit Evaluator(std::size_t families_kept = 8);
  ~Evaluator();
  Evaluator(const Evaluator&) = delete;
  Evaluator& operator=(const Evaluator&) = delete;

  // Returns simulate(job).result, to the bit, and fails with the same errors. All jobs given to one evaluator have
  // equal models and clusters.
  const IterationResult& evaluate(const Job& job);

  std::size_t families() const { return made_; }  // families that were sharded and priced so far

 private:
  struct Family;
  Family& family_of(const Job& job);

  std::size_t kept_;
  std::size_t made_ = 0;
  std::list<Family> families_;    // the last used family first
  IterationResult of_documents_;  // of the last job with strategy.context_tokens
};

}  // namespace mirfak
