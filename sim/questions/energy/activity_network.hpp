#pragma once

#include "energy/cost_curve.hpp"
#include "program/program.hpp"

#include <cstdint>
#include <vector>

namespace mirfak {

using EventId = std::uint32_t;
using CurveId = std::uint32_t;

// A project of activities between events, as project planning draws it (activities on arcs). The head of an arc happens
// at least `offset` + a duration of the arc's curve after its tail.
struct ActivityNetwork {
  struct Arc {
    EventId tail = 0;
    EventId head = 0;
    CurveId curve = 0;
    Picoseconds offset = 0;
  };

  // Curve of an arc that only orders events: its single duration is 0.
  static constexpr CurveId kNoActivity = 0;

  // Events are numbered in a topological order: the tail of each arc is below its head, event 0 is before all others,
  // and the last event is after all others.
  EventId events = 0;
  std::vector<Arc> arcs;
  std::vector<CostCurve> curves;  // the first is the curve kNoActivity

  EventId source() const { return 0; }
  EventId sink() const { return events - 1; }
};

}  // namespace mirfak
