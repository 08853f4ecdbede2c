#pragma once

#include <cstddef>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

namespace mirfak {

// The nodes of a job, one in each place, its spares, and nodes under repair. Places are numbered from 0.
class NodePool {
 public:
  // `factors`: by node, first the nodes in the places, then the spares.
  NodePool(std::vector<double> factors, int places);

  int places() const { return static_cast<int>(node_of_.size()); }
  int missing() const { return static_cast<int>(empty_.size()); }
  // Returns the failure rate of the nodes in their places over that of as many plain nodes.
  double weight() const { return tree_.empty() ? 0 : sum(places()) / places(); }
  // Returns the place at `share` of that weight, from 0 to below 1.
  int place_at(double share) const;

  // Sends the nodes of `count` places to repair, until `back_s`; the places begin at a multiple of `count` and include
  // `place`. Returns the number of nodes.
  int take(int place, int count, double back_s);
  // Brings back the nodes that are repaired at `now_s` and fills places from the spares.
  void refill(double now_s);
  // Returns the time at which there are enough nodes for all but `missing` places; now_s if there are already. Every
  // node comes back, so there is such a time.
  double ready_s(double now_s, int missing) const;

 private:
  using Return = std::pair<double, std::size_t>;  // time, node
  void set_weight(int place, double weight);
  double sum(int places) const;

  std::vector<double> factors_;
  std::vector<std::ptrdiff_t> node_of_;  // by place; -1: none
  std::vector<double> tree_;             // Fenwick tree of the weights of the places
  std::vector<double> weights_;
  std::vector<std::size_t> spares_;
  std::priority_queue<Return, std::vector<Return>, std::greater<>> repairs_;
  std::vector<int> empty_;  // places
};

}  // namespace mirfak
