#pragma once

#include "plan/search_node.hpp"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace mirfak {

// A node of a queue beside its key, which decides most comparisons.
struct QueuedNode {
  double key = 0;
  std::unique_ptr<SearchNode> node;
};

// Priority queue of nodes. Nodes have hundreds of bytes and do not move while others are taken out. `Later`: says if
// one node is taken after another.
template <typename Later>
class NodeQueue {
 public:
  bool empty() const { return heap_.empty(); }
  double first_key() const { return heap_.front().key; }  // of a queue that is not empty
  void push(SearchNode node) { push(std::make_unique<SearchNode>(std::move(node))); }
  void push(std::unique_ptr<SearchNode> node) {
    const double key = node->key;
    heap_.push_back({key, std::move(node)});
    std::push_heap(heap_.begin(), heap_.end(), Later());
  }
  std::unique_ptr<SearchNode> pop() {
    std::pop_heap(heap_.begin(), heap_.end(), Later());
    std::unique_ptr<SearchNode> out = std::move(heap_.back().node);
    heap_.pop_back();
    return out;
  }

 private:
  std::vector<QueuedNode> heap_;
};

}  // namespace mirfak
