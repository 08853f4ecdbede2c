#pragma once

#include "energy/activity_network.hpp"

#include <cstdint>
#include <random>

namespace mirfak::test {

// A curve with corners at these durations, slowest first, and these prices between.
CostCurve curve(std::vector<Picoseconds> durations, std::vector<Microwatts> prices);

struct RandomProject {
  EventId events = 0;
  int arcs = 0;  // beside a path through all events
  int curves = 0;
  int corners = 0;  // of a curve, at most
  Picoseconds longest = 0;
  Microwatts steepest = 0;
};

// The same project for the same state of the generator. Some arcs are parallel, some have no activity, some an offset.
ActivityNetwork random_project(const RandomProject& size, std::mt19937& random);

// The cost of a span above the slowest corner of a curve, in microwatts times picoseconds; the span is at least the
// fastest corner.
std::int64_t cost_of(const CostCurve& curve, Picoseconds span);

}  // namespace mirfak::test
