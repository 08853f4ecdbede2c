#include "reference.hpp"

#include "projects.hpp"

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/successive_shortest_path_nonnegative_weights.hpp>
// This header comes after the others: it includes nothing that it needs.
#include <boost/graph/find_flow_cost.hpp>

#include <algorithm>
#include <vector>

namespace mirfak::test {

namespace {

class EveryPlan {
 public:
  EveryPlan(const ActivityNetwork& network, Picoseconds deadline)
      : network_(network), deadline_(deadline), times_(network.events, 0) {
    place(1);
  }
  std::optional<std::int64_t> least() const { return least_; }

 private:
  void place(EventId event) {
    if (event == network_.events) {
      weigh();
      return;
    }
    Picoseconds earliest = 0;
    for (const auto& arc : network_.arcs) {
      if (arc.head != event) continue;
      const Picoseconds fastest = network_.curves[arc.curve].durations.back() + arc.offset;
      earliest = std::max(earliest, times_[arc.tail] + fastest);
    }
    for (times_[event] = earliest; times_[event] <= deadline_; ++times_[event]) place(event + 1);
  }

  void weigh() {
    std::int64_t cost = 0;
    for (const auto& arc : network_.arcs) {
      cost += cost_of(network_.curves[arc.curve], times_[arc.head] - times_[arc.tail] - arc.offset);
    }
    least_ = std::min(least_.value_or(cost), cost);
  }

  const ActivityNetwork& network_;
  Picoseconds deadline_;
  std::vector<Picoseconds> times_;
  std::optional<std::int64_t> least_;
};

using Traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;
using Graph = boost::adjacency_list<
    boost::vecS, boost::vecS, boost::directedS, boost::no_property,
    boost::property<boost::edge_capacity_t, std::int64_t,
                    boost::property<boost::edge_residual_capacity_t, std::int64_t,
                                    boost::property<boost::edge_reverse_t, Traits::edge_descriptor,
                                                    boost::property<boost::edge_weight_t, std::int64_t>>>>>;

void add_edge(Graph& graph, std::size_t tail, std::size_t head, std::int64_t capacity, std::int64_t weight) {
  const auto forward = boost::add_edge(tail, head, graph).first;
  const auto backward = boost::add_edge(head, tail, graph).first;
  boost::put(boost::edge_capacity, graph, forward, capacity);
  boost::put(boost::edge_capacity, graph, backward, 0);
  boost::put(boost::edge_weight, graph, forward, weight);
  boost::put(boost::edge_weight, graph, backward, -weight);
  boost::put(boost::edge_reverse, graph, forward, backward);
  boost::put(boost::edge_reverse, graph, backward, forward);
}

}  // namespace

std::optional<std::int64_t> cheapest_of_all(const ActivityNetwork& network, Picoseconds deadline) {
  return EveryPlan(network, deadline).least();
}

std::int64_t longest_flow(const ActivityNetwork& network, Microwatts price) {
  // Weights must not be negative: an arc weighs what its span is longer than it in the earliest plan at the cheapest.
  std::vector<Picoseconds> time(network.events, 0);
  for (EventId event = 0; event < network.events; ++event) {
    for (const auto& arc : network.arcs) {
      if (arc.head != event) continue;
      time[event] = std::max(time[event], time[arc.tail] + network.curves[arc.curve].durations.front() + arc.offset);
    }
  }
  Graph graph(network.events + 1);
  for (const auto& arc : network.arcs) {
    const CostCurve& of = network.curves[arc.curve];
    const Picoseconds span = time[arc.head] - time[arc.tail] - arc.offset;
    for (std::size_t i = 0; i < of.durations.size(); ++i) {
      const Microwatts before = i == 0 ? 0 : of.prices[i - 1];
      const Microwatts room = i == of.prices.size() ? price : of.prices[i] - before;
      add_edge(graph, arc.tail, arc.head, room, span - of.durations[i]);
    }
  }
  add_edge(graph, network.events, 0, price, 0);
  boost::successive_shortest_path_nonnegative_weights(graph, network.events, network.sink());
  return price * time[network.sink()] - boost::find_flow_cost(graph);
}

}  // namespace mirfak::test
