#include "training/node_pool.hpp"

#include <algorithm>

namespace mirfak {

NodePool::NodePool(std::vector<double> factors, int places)
    : factors_(std::move(factors)),
      node_of_(static_cast<std::size_t>(places)),
      tree_(static_cast<std::size_t>(places) + 1),
      weights_(static_cast<std::size_t>(places)) {
  for (int place = 0; place < places; ++place) {
    const auto index = static_cast<std::size_t>(place);
    node_of_[index] = place;
    set_weight(place, factors_[index]);
  }
  for (std::size_t node = factors_.size(); node > static_cast<std::size_t>(places); --node) spares_.push_back(node - 1);
}

void NodePool::set_weight(int place, double weight) {
  const double change = weight - weights_[static_cast<std::size_t>(place)];
  weights_[static_cast<std::size_t>(place)] = weight;
  for (std::size_t i = static_cast<std::size_t>(place) + 1; i < tree_.size(); i += i & (~i + 1)) tree_[i] += change;
}

double NodePool::sum(int places) const {
  double total = 0;
  for (auto i = static_cast<std::size_t>(places); i > 0; i &= i - 1) total += tree_[i];
  return total;
}

int NodePool::place_at(double share) const {
  double rest = share * sum(places());
  std::size_t found = 0;
  std::size_t step = 1;
  while (step * 2 < tree_.size()) step *= 2;
  for (; step > 0; step /= 2) {
    if (found + step < tree_.size() && tree_[found + step] <= rest) {
      found += step;
      rest -= tree_[found];
    }
  }
  return static_cast<int>(std::min(found, node_of_.size() - 1));
}

int NodePool::take(int place, int count, double back_s) {
  const int first = place / count * count;
  int taken = 0;
  for (int one = first; one < std::min(first + count, places()); ++one) {
    std::ptrdiff_t& node = node_of_[static_cast<std::size_t>(one)];
    if (node < 0) continue;
    repairs_.emplace(back_s, static_cast<std::size_t>(node));
    node = -1;
    set_weight(one, 0);
    empty_.push_back(one);
    ++taken;
  }
  return taken;
}

void NodePool::refill(double now_s) {
  while (!repairs_.empty() && repairs_.top().first <= now_s) {
    spares_.push_back(repairs_.top().second);
    repairs_.pop();
  }
  while (!empty_.empty() && !spares_.empty()) {
    const int place = empty_.back();
    const std::size_t node = spares_.back();
    empty_.pop_back();
    spares_.pop_back();
    node_of_[static_cast<std::size_t>(place)] = static_cast<std::ptrdiff_t>(node);
    set_weight(place, factors_[node]);
  }
}

double NodePool::ready_s(double now_s, int missing) const {
  int needed = this->missing() - missing - static_cast<int>(spares_.size());
  if (needed <= 0) return now_s;
  auto repairs = repairs_;
  double ready = now_s;
  for (; needed > 0 && !repairs.empty(); --needed) {
    ready = std::max(ready, repairs.top().first);
    repairs.pop();
  }
  return ready;
}

}  // namespace mirfak
