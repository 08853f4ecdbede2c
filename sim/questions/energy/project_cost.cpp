// The cheapest plan for every deadline, by one run of a parametric network simplex.
//
// The problem. Event v happens at t(v). An activity on arc (u, v) may take any duration up to t(v) - t(u), and costs
// c(duration): convex, piecewise linear, falling. Find the least total cost for every makespan T = t(sink) - t(source).
//
// The dual is a flow. Let the flow on an arc be the cost of a second less there: between the prices on both sides of
// the corner that its duration is at, exactly the price of the segment that it is inside of, 0 where there is slack,
// unlimited at the fastest corner. Times and a flow that fit each other in this way are optimal, and the value F of the
// flow is the slope of the curve: shortening the project by dT costs F dT. (F is a minimum cut of the critical arcs,
// with activities that cross the cut backwards counted negatively: they may be slowed down, and give back their cost.)
//
//   Example. Two activities in a row, each 3 s or, for 10 J more, 2 s. F = 10 W at once: the first, then the second is
//   shortened, T from 6 to 4 s. Two in parallel: both must be shortened together, F = 20 W.
//
// Kelley and Fulkerson (1961) alternate two steps: raise the flow over tight arcs as far as possible, then, when a cut
// of tight arcs is saturated, move all events after the cut closer until another arc becomes tight. Each such dual step
// costs as much as the graph is large; there are as many as corners of all activities. Here the tight arcs are kept as
// two trees instead, as a network simplex keeps its basis: a tree of the events before the cut, rooted at the source,
// and a tree of the events after the cut, rooted at the sink. While T shrinks by s, times in the first tree stay and
// times in the second fall by s together: nothing is written. Only arcs between the trees change their span; each
// becomes tight at a T that is known when the arc comes to lie between them, and a heap holds these. So a dual step
// costs only as much as it changes:
//
//   the next arc becomes tight; with it there is a path source - near end - far end - sink in the two trees;
//   if an arc on the far part of this path has no capacity left, the part below it changes to the source's side;
//   else F rises by the least residual capacity of the path, the saturated arc nearest to the source (the entering arc
//   itself, or one after it) leaves the trees, and the events below the leaving arc change sides.
//
// The run ends because every tree arc keeps residual capacity from its tree's root outwards (a strongly feasible basis:
// Cunningham 1976). At the start all arcs are tight arcs of longest paths and can take flow; the leaving arc is the
// first without capacity seen from the source, so that all arcs turned round have just been given flow against their
// new direction, or had residual capacity. Then no arc without flow can block between the source and the near end:
// between two rises of F or falls of T the source's side only grows.
//
// Measured: 8 stages x 128 microbatches of the profile of tests/bench take 27,677 pivots, 27 for each of 1,023 rises of
// F, at 1 us each; the textbook's dual steps are 4,689, each over the whole graph. Tests:
// tests/energy/project_cost_laws.cpp (every plan of small projects, minimum cost flows by Boost.Graph) and
// linear_program.cpp.

#include "energy/project_cost.hpp"

#include "base/cancellation.hpp"
#include "base/error.hpp"

#include <algorithm>
#include <numeric>

namespace mirfak {

namespace {

constexpr std::uint64_t kPivotsBetweenChecks = 1024;
constexpr double kJoulesPerMicrowattPicosecond = 1e-18;

double cost_of(Microwatts price, Picoseconds shortened) {
  return static_cast<double>(price) * static_cast<double>(shortened) * kJoulesPerMicrowattPicosecond;
}

bool is_unlimited(Microwatts residual) { return residual >= kUnlimited / 2; }

}  // namespace

ProjectCost::ProjectCost(const ActivityNetwork& network) : network_(network), forest_(earliest_plan()) {
  makespan_ = cheapest_makespan_;
  for (ArcId arc = 0; arc < arcs_.size(); ++arc) {
    if (arcs_[arc].head == network.sink()) expect(arc);
  }
}

// Puts every event as early as possible with every activity at its cheapest, and below an event that it waits for.
EventForest ProjectCost::earliest_plan() {
  arcs_.reserve(network_.arcs.size());
  for (const ActivityNetwork::Arc& described : network_.arcs) {
    Arc& arc = arcs_.emplace_back();
    arc.tail = described.tail;
    arc.head = described.head;
    arc.curve = described.curve;
    arc.offset = described.offset;
    set_piece(arc, 0);
  }
  std::vector<ArcId> by_tail(arcs_.size());
  std::iota(by_tail.begin(), by_tail.end(), 0);
  std::stable_sort(by_tail.begin(), by_tail.end(), [&](ArcId a, ArcId b) { return arcs_[a].tail < arcs_[b].tail; });
  std::vector<Picoseconds> earliest(network_.events, -1);
  std::vector<ArcId> last(network_.events, kNone);
  earliest[network_.source()] = 0;
  for (const ArcId id : by_tail) {
    const Arc& arc = arcs_[id];
    const Picoseconds time = earliest[arc.tail] + arc.shortest;
    if (time <= earliest[arc.head]) continue;
    earliest[arc.head] = time;
    last[arc.head] = id;
  }
  if (std::count(last.begin(), last.end(), kNone) != 1) fail_internal("an event of the project waits for nothing");
  cheapest_makespan_ = earliest[network_.sink()];
  return {network_, last, earliest};
}

void ProjectCost::set_piece(Arc& arc, std::uint32_t piece) const {
  const CostCurve& curve = network_.curves[arc.curve];
  arc.piece = piece;
  arc.shortest = curve.durations[piece] + arc.offset;
  arc.longest = piece == 0 ? kNever : curve.durations[piece - 1] + arc.offset;
  arc.lower = piece == 0 ? 0 : curve.prices[piece - 1];
  arc.upper = piece == curve.prices.size() ? kUnlimited : curve.prices[piece];
}

// Returns the shortening of the project at which an arc becomes tight; nullopt if the ends of the arc do not come
// closer, or can go apart for ever.
std::optional<Picoseconds> ProjectCost::tight_at(const Arc& arc) const {
  const EventForest::Side side = forest_.side(arc.tail);
  if (side == forest_.side(arc.head)) return std::nullopt;
  const Picoseconds span = forest_.time(arc.head) - forest_.time(arc.tail);  // without the makespan
  if (side == EventForest::kSourceSide) return cheapest_makespan_ - (arc.shortest - span);
  if (arc.longest == kNever) return std::nullopt;
  return cheapest_makespan_ - (span - arc.longest);
}

void ProjectCost::expect(ArcId arc) {
  if (const auto time = tight_at(arcs_[arc])) tightening_.push(*time, arc);
}

// Returns the next arc to become tight, if that happens before the project is as short as `deadline`. Entries whose arc
// has changed since they were made are skipped, because a new entry was made then.
std::optional<ArcId> ProjectCost::next_tight(Picoseconds deadline) {
  const Picoseconds limit = cheapest_makespan_ - deadline;
  if (pending_) {
    if (tightening_.now() > limit) return std::nullopt;
    const ArcId arc = *pending_;
    pending_.reset();
    return arc;
  }
  while (!tightening_.empty()) {
    const auto entry = tightening_.pop();
    if (tight_at(arcs_[entry.payload]) != entry.time) continue;
    if (entry.time <= limit) return entry.payload;
    pending_ = entry.payload;
    return std::nullopt;
  }
  return std::nullopt;
}

void ProjectCost::shorten_to(Picoseconds deadline, Microwatts price) {
  while (!finished_) {
    if (price_ >= price) return;
    if (pivots_ % kPivotsBetweenChecks == 0) check_cancelled();
    const auto arc = next_tight(deadline);
    if (!arc) break;
    makespan_ = cheapest_makespan_ - tightening_.now();
    pivot(*arc);
  }
  if (!finished_) makespan_ = std::min(makespan_, std::max(deadline, Picoseconds(0)));
}

void ProjectCost::pivot(ArcId entering) {
  ++pivots_;
  Arc& arc = arcs_[entering];
  const bool shrinks = forest_.side(arc.tail) == EventForest::kSourceSide;
  if (!shrinks) set_piece(arc, arc.piece - 1);
  const EventId near = shrinks ? arc.tail : arc.head;
  const EventId far = shrinks ? arc.head : arc.tail;
  const Bottleneck behind = towards_sink(far);
  if (behind.residual > 0) {
    finished_ = !augment(near, far, entering, behind);
    return;
  }
  transplant(behind.child, far, near, entering);
}

// Raises the flow along the path through `entering` as far as it goes. False if there is no limit: the project is as
// short as it can be.
bool ProjectCost::augment(EventId near, EventId far, ArcId entering, const Bottleneck& behind) {
  Arc& arc = arcs_[entering];
  const bool shrinks = arc.tail == near;
  const Microwatts through = shrinks ? arc.upper - arc.flow : arc.flow - arc.lower;
  const Bottleneck before = towards_source(near);
  const Microwatts more = std::min({before.residual, through, behind.residual});
  if (is_unlimited(more)) return false;
  pass_corner();
  price_ += more;
  for (EventId event = near; forest_.parent(event) != kNone; event = forest_.parent(event)) {
    Arc& along = arcs_[forest_.parent_arc(event)];
    along.flow += along.head == event ? more : -more;
  }
  for (EventId event = far; forest_.parent(event) != kNone; event = forest_.parent(event)) {
    Arc& along = arcs_[forest_.parent_arc(event)];
    along.flow += along.tail == event ? more : -more;
  }
  arc.flow += shrinks ? more : -more;

  if (before.residual == more) {
    transplant(before.child, near, far, entering);
  } else if (through == more) {
    if (arc.flow == arc.upper) set_piece(arc, arc.piece + 1);
    expect(entering);
  } else {
    transplant(behind.child, far, near, entering);
  }
  return true;
}

// Return the residual capacity of the tree arc above an event, upwards and downwards.
Microwatts ProjectCost::residual_up(EventId child) const {
  const Arc& arc = arcs_[forest_.parent_arc(child)];
  return arc.tail == child ? arc.upper - arc.flow : arc.flow - arc.lower;
}

Microwatts ProjectCost::residual_down(EventId child) const {
  const Arc& arc = arcs_[forest_.parent_arc(child)];
  return arc.head == child ? arc.upper - arc.flow : arc.flow - arc.lower;
}

// Returns the first of the narrowest arcs on the way to the sink; stops at an arc without residual capacity.
ProjectCost::Bottleneck ProjectCost::towards_sink(EventId from) const {
  Bottleneck out;
  for (EventId event = from; forest_.parent(event) != kNone; event = forest_.parent(event)) {
    const Microwatts residual = residual_up(event);
    if (residual >= out.residual) continue;
    out = {residual, event};
    if (residual == 0) break;
  }
  return out;
}

// Returns the narrowest arc nearest to the source on the way to the source.
ProjectCost::Bottleneck ProjectCost::towards_source(EventId from) const {
  Bottleneck out;
  for (EventId event = from; forest_.parent(event) != kNone; event = forest_.parent(event)) {
    const Microwatts residual = residual_down(event);
    if (residual <= out.residual) out = {residual, event};
  }
  return out;
}

// Replaces the tree arc above `child`, at the bound that its flow has reached, by `arc`.
void ProjectCost::transplant(EventId child, EventId end, EventId parent, ArcId arc) {
  Arc& leaving = arcs_[forest_.parent_arc(child)];
  if (leaving.flow == leaving.upper) set_piece(leaving, leaving.piece + 1);
  for (const ArcId between : forest_.transplant(child, end, parent, arc, makespan_)) expect(between);
}

// Notes a corner of the curve where the price is about to rise.
void ProjectCost::pass_corner() {
  if (!corners_.empty() && corners_.back().makespan == makespan_) return;
  const double cost = cost_j();
  if (!corners_.empty()) corners_.back().price = price_;
  corners_.push_back({makespan_, price_, cost});
}

double ProjectCost::cost_j() const {
  if (corners_.empty()) return 0;
  return corners_.back().cost_j + cost_of(price_, corners_.back().makespan - makespan_);
}

std::vector<ProjectCost::Corner> ProjectCost::corners() const {
  std::vector<Corner> out = corners_;
  if (!out.empty()) out.back().price = price_;
  if (out.empty() || out.back().makespan != makespan_) out.push_back({makespan_, price_, cost_j()});
  return out;
}

std::vector<Picoseconds> ProjectCost::event_times() const {
  std::vector<Picoseconds> times(network_.events);
  for (EventId event = 0; event < network_.events; ++event) {
    times[event] = forest_.time(event) + (forest_.side(event) == EventForest::kSinkSide ? makespan_ : 0);
  }
  return times;
}

}  // namespace mirfak
