#pragma once

#include "energy/activity_network.hpp"

#include <cstdint>
#include <optional>

namespace mirfak::test {

// Slow and obviously right, for tests alone. Costs in microwatts times picoseconds, above that of every activity at its
// cheapest.

// The least cost of all plans with whole times, each one tried; nothing if there is none within the deadline. A plan
// with other times cannot cost less: corners and deadline are whole, and the constraints are differences of two times.
std::optional<std::int64_t> cheapest_of_all(const ActivityNetwork& network, Picoseconds deadline);

// The least of cost + price x makespan over all plans, by its dual: the flow of value `price` that is longest in the
// sum, found by Boost's minimum cost flow. A piece of a curve takes as much flow as its price is above that of the
// piece before, and is as long as its corner; the last piece takes any.
std::int64_t longest_flow(const ActivityNetwork& network, Microwatts price);

}  // namespace mirfak::test
