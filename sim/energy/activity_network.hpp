#pragma once

#include "energy/cost_curve.hpp"
#include "program/program.hpp"

#include <cstdint>
#include <vector>

namespace mirfak {

using EventId = std::uint32_t;
using CurveId = std::uint32_t;

// A project of activities between events, as project planning draws it (activities on arcs). The head of an arc happens
// at least `offset` + a duration of its curve after its tail.
struct ActivityNetwork {
  struct Arc {
    EventId tail = 0;
    EventId head = 0;
    CurveId curve = 0;
    Picoseconds offset = 0;
  };

  // Of one duration, 0: what an arc has that only orders events.
  static constexpr CurveId kNoActivity = 0;

  // Events are numbered in a topological order: the tail of each arc is below its head, event 0 is before and the last
  // event after all others.
  EventId events = 0;
  std::vector<Arc> arcs;
  std::vector<CostCurve> curves;  // the first is that of kNoActivity

  EventId source() const { return 0; }
  EventId sink() const { return events - 1; }
};

}  // namespace mirfak
