#pragma once

#include "plan/cluster_choices.hpp"
#include "plan/standing.hpp"
#include "simulation/score.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

namespace mirfak {

// Lower bounds of an iteration.
struct TimeAndWork {
  Picoseconds time = 0;
  double working_j = 0;  // energy above that of waiting
};

using ClockScores = std::map<std::uint32_t, IterationScore>;  // by clock (clock_choices)

// Search for the clock of one span at which a strategy runs under a power cap: the highest clock at which it keeps the
// cap. Power falls towards lower clocks, but may rise again where the power that does not depend on the clock prevails.
// The cap is kept at a clock if an iteration takes no less than t with working energy + power of waiting t = cap t. The
// strategy is simulated first at the clock at which its bounds say so first, and then at the neighbors of that clock,
// as long as some clock of the span may matter. Nothing is slower at higher clocks: where even the time of a lower
// clock is less than t, the cap is not kept. If bounds say that no clock that may matter keeps the cap, the strategy is
// simulated at a lower clock that shows this, also for the clocks of the next span.
class CappedClock {
 public:
  struct Ask {
    ClockSpan span;
    std::uint32_t lowest = 0;  // lowest clock of all spans
    double cap_w = 0;
    double blocked_w = 0;             // power of all GPUs while they wait
    std::vector<TimeAndWork> bounds;  // for each clock of the span
    ClockScores known;                // those of clocks that were simulated before, of other spans
    // Returns the merit of a strategy with such bounds.
    std::function<Merit(const TimeAndWork&)> merit;
    // Returns true if no strategy of at least this merit matters.
    std::function<bool(const Merit&)> excluded;
    // Simulates the strategy at a clock, as score_iteration() does.
    std::function<std::optional<IterationScore>(std::uint32_t clock,
                                                const std::function<bool(const IterationScore&)>& hopeless)>
        score;
  };

  explicit CappedClock(Ask ask);

  // Returns the clock; nothing if it is in another span or does not matter, or if no clock keeps the cap.
  std::optional<std::uint32_t> find();
  // Returns the score at a clock that was found.
  const IterationScore& score(std::uint32_t clock) const { return scores_.at(clock); }
  bool simulated() const { return scores_.size() > ask_.known.size(); }
  const ClockScores& scores() const { return scores_; }  // of all clocks that were simulated

 private:
  enum class Keeps { no, yes, no_matter };
  std::uint32_t clock_of(std::size_t i) const { return ask_.span.highest + static_cast<std::uint32_t>(i); }
  // Returns the least time with which an iteration of such work keeps the cap.
  double keeping_s(const TimeAndWork& bound) const { return ask_.merit({0, bound.working_j}).time_s; }
  std::uint32_t likely() const;
  bool bounds_say_kept(std::size_t i) const { return to_seconds(ask_.bounds[i].time) >= keeping_s(ask_.bounds[i]); }
  std::uint32_t lower_and_in_time(std::size_t i) const;
  std::optional<std::uint32_t> among_those_that_matter();
  std::optional<std::uint32_t> highest_from(std::uint32_t kept);
  std::optional<std::uint32_t> where_power_rises();
  Keeps keeps(std::uint32_t clock);
  void rule_out(std::uint32_t clock, bool kept);
  void learn(std::uint32_t clock, const IterationScore& least);
  bool may_matter(std::size_t i) const { return !ruled_out_[i] && !ask_.excluded(ask_.merit(ask_.bounds[i])); }
  bool may_matter() const;
  double power_w(std::uint32_t clock) const { return scores_.at(clock).energy_j / to_seconds(scores_.at(clock).time); }

  Ask ask_;
  std::vector<bool> ruled_out_;  // for each clock of the span
  ClockScores scores_;
};

// Scores of the strategies that a search under a power cap has simulated: at clocks of one span they say what a
// strategy does at those of others.
class ScoredStrategies {
 public:
  // Returns the scores of a strategy; none if it was not simulated.
  ClockScores of(const TreePlace& place, const Strategy& strategy) const;
  void add(const TreePlace& place, const Strategy& strategy, const ClockScores& scores);

 private:
  struct Scored {
    Strategy strategy;
    ClockScores scores;
  };
  // By layout, blocks and state: pipelines are numbered apart in each span.
  using Key = std::tuple<TreePlace::Layout, std::uint32_t, std::uint32_t>;
  static Key key_of(const TreePlace& place) { return {place.layout_place(), place.branch, place.state}; }

  std::map<Key, std::vector<Scored>> known_;
};

}  // namespace mirfak
