#pragma once

#include <cstddef>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

namespace mirfak {

// The nodes of a job, one in each place, spares, and nodes that are being repaired. Places are numbered from 0.
class NodePool {
 public:
  // `factors`: of the nodes in the places, then of the spares.
  NodePool(std::vector<double> factors, int places);

  int places() const { return static_cast<int>(node_of_.size()); }
  int missing() const { return static_cast<int>(empty_.size()); }
  // The failures of the nodes in their places over those of as many plain ones.
  double weight() const { return tree_.empty() ? 0 : sum(places()) / places(); }
  // The place that `share` of that weight, from 0 to below 1, falls on.
  int place_at(double share) const;

  // Takes what is there of `count` places, that begin at a multiple of it and have `place` among them, to where it
  // comes back from at `back_s`. Returns how many nodes that are.
  int take(int place, int count, double back_s);
  // Brings back what is repaired by then and fills places from the spares.
  void refill(double now_s);
  // When there are enough nodes for all but `missing` places; now_s if there are. Spares and repairs make up for all
  // that are taken, so there is such a time.
  double ready_s(double now_s, int missing) const;

 private:
  using Return = std::pair<double, std::size_t>;  // when, node
  void set_weight(int place, double weight);
  double sum(int places) const;

  std::vector<double> factors_;
  std::vector<std::ptrdiff_t> node_of_;  // of each place; -1: none
  std::vector<double> tree_;             // Fenwick's, of the weights of the places
  std::vector<double> weights_;
  std::vector<std::size_t> spares_;
  std::priority_queue<Return, std::vector<Return>, std::greater<>> repairs_;
  std::vector<int> empty_;  // places
};

}  // namespace mirfak
