#pragma once

#include "energy/activity_network.hpp"
#include "energy/event_forest.hpp"
#include "engine/radix_heap.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace mirfak {

// The project cost curve (Kelley 1961, Fulkerson 1961): the least cost of finishing a project by a deadline, for every
// deadline. Exact: times are whole picoseconds and prices whole microwatts, so that nothing is rounded.
//
// The project starts with every activity at its cheapest and is shortened from there; a deadline once passed does not
// come back.
class ProjectCost {
 public:
  // A corner of the curve. From this corner to the next, shortening the project costs `price` per second.
  struct Corner {
    Picoseconds makespan = 0;
    Microwatts price = 0;
    double cost_j = 0;  // above the cost of the project with every activity at its cheapest
  };

  // `network` must outlive this object.
  explicit ProjectCost(const ActivityNetwork& network);

  // Shortens the project at the least cost to `deadline`, or as far as it goes; stops where a second less would cost
  // `price` or more. A deadline later than makespan() has no effect.
  void shorten_to(Picoseconds deadline, Microwatts price = kUnlimited);

  Picoseconds makespan() const { return makespan_; }
  bool is_shortest() const { return finished_; }
  double cost_j() const;
  // Returns the curve so far, longest first; its first corner is the project at its cheapest, its last corner is at
  // makespan().
  std::vector<Corner> corners() const;
  // Returns the times of events, the source at 0 and the sink at makespan(): one of the cheapest plans of this
  // makespan.
  std::vector<Picoseconds> event_times() const;

  std::uint64_t pivots() const { return pivots_; }  // arcs that became tight so far, for benchmarks

 private:
  static constexpr Picoseconds kNever = std::numeric_limits<Picoseconds>::max();

  // An arc of the network with its flow. `piece` is the corner of the arc's curve at its span, or the next corner when
  // the span shrinks. At that corner the flow is between two neighbouring prices, elsewhere at the lower price.
  struct Arc {
    EventId tail = 0;
    EventId head = 0;
    CurveId curve = 0;
    std::uint32_t piece = 0;
    Picoseconds offset = 0;
    Picoseconds shortest = 0;      // span at that corner
    Picoseconds longest = kNever;  // span at the corner before
    Microwatts flow = 0;
    Microwatts lower = 0;
    Microwatts upper = 0;
  };
  // The least residual capacity, in the direction of flow, along the tree path from an event to its root, and the child
  // end of the arc that has it.
  struct Bottleneck {
    Microwatts residual = kUnlimited;
    EventId child = kNone;
  };

  EventForest earliest_plan();
  void set_piece(Arc& arc, std::uint32_t piece) const;
  std::optional<Picoseconds> tight_at(const Arc& arc) const;
  void expect(ArcId arc);
  std::optional<ArcId> next_tight(Picoseconds deadline);
  void pivot(ArcId entering);
  bool augment(EventId near, EventId far, ArcId entering, const Bottleneck& behind);
  Microwatts residual_up(EventId child) const;
  Microwatts residual_down(EventId child) const;
  Bottleneck towards_sink(EventId from) const;
  Bottleneck towards_source(EventId from) const;
  void transplant(EventId child, EventId end, EventId parent, ArcId arc);
  void pass_corner();

  const ActivityNetwork& network_;
  std::vector<Arc> arcs_;
  Picoseconds cheapest_makespan_ = 0;
  EventForest forest_;
  RadixHeap<ArcId> tightening_;   // arcs between the sides, by the shortening at which they become tight
  std::optional<ArcId> pending_;  // popped, but beyond the last deadline
  Picoseconds makespan_ = 0;
  Microwatts price_ = 0;
  bool finished_ = false;
  std::vector<Corner> corners_;
  std::uint64_t pivots_ = 0;
};

}  // namespace mirfak
