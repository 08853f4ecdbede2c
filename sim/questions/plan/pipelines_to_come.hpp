#pragma once

#include "plan/priced_branch.hpp"
#include "plan/standing.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace mirfak {

// Pipelines of a branch that a search has still to look at, the most promising first. They are one node of its queue: a
// branch may have a million pipelines, nearly all of which are excluded together.
class PipelinesToCome {
 public:
  struct Pipeline {
    Merit bound;
    double key = 0;            // value of the objective in the bound
    std::uint32_t number = 0;  // ListedBranch::pipeline
    bool raised = false;       // false: bounded by its layers alone
  };

  explicit PipelinesToCome(std::shared_ptr<const PricedBranch> branch) : branch_(std::move(branch)) {}

  const std::shared_ptr<const PricedBranch>& branch() const { return branch_; }
  bool empty() const { return heap_.empty(); }
  const Pipeline& first() const { return heap_.front(); }
  void add(const Pipeline& pipeline) {
    heap_.push_back(pipeline);
    std::push_heap(heap_.begin(), heap_.end(), later);
  }
  Pipeline take_first() {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    const Pipeline out = heap_.back();
    heap_.pop_back();
    return out;
  }

 private:
  static bool later(const Pipeline& a, const Pipeline& b) {
    return a.key != b.key ? a.key > b.key : a.number > b.number;
  }

  std::shared_ptr<const PricedBranch> branch_;
  std::vector<Pipeline> heap_;
};

}  // namespace mirfak
