#include "projects.hpp"

#include <algorithm>
#include <set>

namespace mirfak::test {

CostCurve curve(std::vector<Picoseconds> durations, std::vector<Microwatts> prices) {
  return {std::move(durations), std::move(prices)};
}

namespace {

template <class Number>
Number between(Number least, Number most, std::mt19937& random) {
  return std::uniform_int_distribution<Number>(least, most)(random);
}

CostCurve random_curve(const RandomProject& size, std::mt19937& random) {
  std::set<Picoseconds> durations;
  const int corners = between(1, size.corners, random);
  for (int i = 0; i < corners; ++i) durations.insert(between<Picoseconds>(0, size.longest, random));
  std::set<Microwatts> prices;
  while (prices.size() + 1 < durations.size()) prices.insert(between<Microwatts>(1, size.steepest, random));
  return curve({durations.rbegin(), durations.rend()}, {prices.begin(), prices.end()});
}

}  // namespace

ActivityNetwork random_project(const RandomProject& size, std::mt19937& random) {
  ActivityNetwork network;
  network.events = size.events;
  network.curves.push_back(curve({0}, {}));
  for (int i = 0; i < size.curves; ++i) network.curves.push_back(random_curve(size, random));
  const auto add = [&](EventId tail, EventId head) {
    const auto of = static_cast<CurveId>(between(0, size.curves, random));
    const auto offset = between<Picoseconds>(0, 3, random) == 0 ? between<Picoseconds>(0, size.longest, random) : 0;
    network.arcs.push_back({tail, head, of, offset});
  };
  for (EventId event = 0; event + 1 < size.events; ++event) add(event, event + 1);
  for (int i = 0; i < size.arcs; ++i) {
    const EventId tail = between<EventId>(0, size.events - 2, random);
    add(tail, between<EventId>(tail + 1, size.events - 1, random));
  }
  return network;
}

std::int64_t cost_of(const CostCurve& curve, Picoseconds span) {
  std::int64_t cost = 0;
  for (std::size_t i = 0; i < curve.prices.size(); ++i) {
    const Picoseconds shortened = curve.durations[i] - std::max(span, curve.durations[i + 1]);
    cost += std::max<Picoseconds>(shortened, 0) * curve.prices[i];
  }
  return cost;
}

}  // namespace mirfak::test
