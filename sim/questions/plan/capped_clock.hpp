#pragma once

#include "plan/cluster_choices.hpp"
#include "plan/standing.hpp"
#include "simulation/score.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

namespace mirfak {

// Lower bounds of an iteration.
struct TimeAndWork {
  Picoseconds time = 0;
  double working_j = 0;  // energy above that of waiting
};

// Search for the clock of one span at which a strategy runs under a power cap: the highest clock at which it keeps the
// cap. Power falls towards lower clocks, but may rise again where the power that does not depend on the clock prevails.
// The cap is kept at a clock if an iteration takes no less than t with working energy + power of waiting t = cap t. The
// strategy is simulated first at the clock at which its bounds say so first, and then at the neighbors of that clock,
// as long as some clock of the span may matter. Nothing is slower at higher clocks: where even the time of a lower
// clock is less than t, the cap is not kept.
class CappedClock {
 public:
  struct Ask {
    ClockSpan span;
    double cap_w = 0;
    double blocked_w = 0;             // power of all GPUs while they wait
    std::vector<TimeAndWork> bounds;  // for each clock of the span
    // Returns the merit of a strategy with such bounds.
    std::function<Merit(const TimeAndWork&)> merit;
    // Returns true if no strategy of at least this merit matters.
    std::function<bool(const Merit&)> excluded;
    // Simulates the strategy at a clock, as score_iteration() does.
    std::function<std::optional<IterationScore>(std::uint32_t clock,
                                                const std::function<bool(const IterationScore&)>& hopeless)>
        score;
  };

  explicit CappedClock(Ask ask) : ask_(std::move(ask)), ruled_out_(ask_.bounds.size()) {}

  // Returns the clock; nothing if it is in another span or does not matter, or if no clock keeps the cap.
  std::optional<std::uint32_t> find();
  // Returns the score at a clock that was found.
  const IterationScore& score(std::uint32_t clock) const { return scores_.at(clock); }
  bool simulated() const { return !scores_.empty(); }

 private:
  enum class Keeps { no, yes, no_matter };
  std::uint32_t clock_of(std::size_t i) const { return ask_.span.highest + static_cast<std::uint32_t>(i); }
  // Returns the least time with which an iteration of such work keeps the cap.
  double keeping_s(const TimeAndWork& bound) const { return ask_.merit({0, bound.working_j}).time_s; }
  std::uint32_t likely() const;
  std::optional<std::uint32_t> highest_from(std::uint32_t kept);
  std::optional<std::uint32_t> where_power_rises();
  Keeps keeps(std::uint32_t clock);
  void rule_out(std::uint32_t clock, bool kept);
  void learn(std::uint32_t clock, const IterationScore& least);
  bool may_matter() const;
  double power_w(std::uint32_t clock) const { return scores_.at(clock).energy_j / to_seconds(scores_.at(clock).time); }

  Ask ask_;
  std::vector<bool> ruled_out_;  // for each clock of the span
  std::map<std::uint32_t, IterationScore> scores_;
};

}  // namespace mirfak
