#pragma once

#include "energy/activity_network.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace mirfak {

using ArcId = std::uint32_t;
inline constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

// Two trees of arcs over the events of a network: a tree of the events that stay where they are while the project
// becomes shorter, rooted at the source, and a tree of the events that come closer, rooted at the sink.
class EventForest {
 public:
  enum Side : std::uint8_t { kSourceSide, kSinkSide };

  // `parent_arc`: by event, the arc to it from its parent; the entries of source and sink are not read. All events hang
  // below the source; the sink is a tree of its own. `times`: after the source. `network` must outlive this object.
  EventForest(const ActivityNetwork& network, std::span<const ArcId> parent_arc, std::span<const Picoseconds> times);

  Side side(EventId event) const { return clusters_[cluster_of_[event]].side; }
  // Returns the time after the source for events on the source's side; for the others the time before the sink,
  // negative.
  Picoseconds time(EventId event) const { return events_[event].time + clusters_[cluster_of_[event]].base; }
  EventId parent(EventId event) const { return events_[event].parent; }  // kNone: source or sink
  ArcId parent_arc(EventId event) const { return events_[event].parent_arc; }

  // Takes the tree arc above `child` out, and hangs the part below this arc, by `arc` from its event `end`, below
  // `parent`, an event of the other side; the project takes `makespan`. Returns the arcs that may now lie between the
  // sides, some of them more than once; valid until the next call.
  std::span<const ArcId> transplant(EventId child, EventId end, EventId parent, ArcId arc, Picoseconds makespan);

 private:
  using ClusterId = std::uint32_t;

  // An event in its tree. Children are a doubly linked list.
  struct Event {
    Picoseconds time = 0;  // after its cluster's base
    EventId parent = kNone;
    ArcId parent_arc = kNone;
    EventId first_child = kNone;
    EventId next = kNone;
    EventId previous = kNone;
  };
  // Events connected by tree arcs that have moved together so far.
  struct Cluster {
    Side side = kSourceSide;
    Picoseconds base = 0;
    std::uint32_t size = 0;         // number of events
    std::vector<ArcId> joints;      // tree arcs to other clusters
    std::vector<ArcId> boundary;    // arcs to other clusters; may hold other arcs too, and arcs twice
    std::size_t boundary_kept = 0;  // size of `boundary` when it was last pruned
  };
  // An event, and the event from which a walk came to it.
  struct Visit {
    EventId event = 0;
    EventId from = 0;
  };

  void index_arcs(const ActivityNetwork& network);
  void link(EventId child, EventId parent, ArcId arc);
  void unlink(EventId child);
  void make_root(EventId event);

  ClusterId cluster_beyond(ArcId joint, ClusterId from) const;
  bool find_smaller_part(EventId below, EventId above);
  void extend(std::vector<Visit>& visits, std::size_t at, ClusterId within) const;
  void extend_below(std::vector<Visit>& visits, std::size_t at, ClusterId within) const;
  ClusterId new_cluster(const Cluster& like);
  void relabel(ClusterId to);
  void note_boundary(ClusterId cluster, ArcId arc);
  void prune_boundary(ClusterId cluster);
  void split_off(ClusterId to);
  void flip_from(ClusterId first, ClusterId not_into);
  void flip(ClusterId cluster);
  void drop_joint(ArcId arc, ClusterId cluster);
  void merge(ArcId joint);

  struct Ends {
    EventId tail = 0;
    EventId head = 0;
  };
  struct Incidence {
    ArcId arc = 0;
    EventId other = 0;
  };
  std::vector<Ends> ends_;
  std::vector<std::uint32_t> incidence_begin_;
  std::vector<Incidence> incidences_;
  std::vector<Event> events_;
  std::vector<ClusterId> cluster_of_;  // by event; apart from events_ because most looks at events need only this
  std::vector<Cluster> clusters_;
  std::vector<ClusterId> unused_;
  std::uint32_t small_ = 0;  // clusters of at most this many events are merged into others
  Picoseconds makespan_ = 0;
  std::vector<Visit> part_;  // part of a cluster, while the cluster is split
  std::vector<Visit> other_part_;
  std::vector<ArcId> candidates_;
  std::vector<std::uint32_t> seen_in_;  // by arc: the last pruning that kept it
  std::uint32_t prunings_ = 0;
  std::vector<std::pair<ClusterId, ClusterId>> flipping_;  // clusters, and those that they were reached from
};

}  // namespace mirfak
