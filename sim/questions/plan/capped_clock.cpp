#include "plan/capped_clock.hpp"

#include "plan/candidate_clusters.hpp"

#include <algorithm>

namespace mirfak {

CappedClock::CappedClock(Ask ask) : ask_(std::move(ask)), ruled_out_(ask_.bounds.size()), scores_(ask_.known) {
  for (const auto& [clock, score] : scores_) {
    learn(clock, score);
    rule_out(clock, power_w(clock) <= ask_.cap_w);
  }
}

std::uint32_t CappedClock::likely() const {
  std::size_t i = 0;
  while (i + 1 < ask_.bounds.size() && !bounds_say_kept(i)) ++i;
  return clock_of(i);
}

std::optional<std::uint32_t> CappedClock::find() {
  if (!may_matter()) return std::nullopt;
  const std::uint32_t first = likely();
  const std::size_t i = first - ask_.span.highest;
  if (!may_matter(i) || !bounds_say_kept(i)) return among_those_that_matter();
  for (std::uint32_t clock = first; clock <= ask_.span.lowest; ++clock) {
    const Keeps kept = keeps(clock);
    if (kept == Keeps::no_matter) return std::nullopt;
    if (kept == Keeps::yes) return clock == first ? highest_from(clock) : std::optional(clock);
  }
  return where_power_rises();
}

// Returns the lowest clock at which an iteration likely takes less time than the cap demands at the i-th clock of the
// span: passes slow down by no more than the clock does, and bounds are some tenths of a percent below iterations.
std::uint32_t CappedClock::lower_and_in_time(std::size_t i) const {
  constexpr double kAboveBound = 1.01;
  const double slower = keeping_s(ask_.bounds[i]) / (kAboveBound * to_seconds(ask_.bounds[i].time));
  std::uint32_t clock = clock_of(i);
  while (clock < ask_.lowest && clock_share(clock_of(i)) < slower * clock_share(clock + 1)) ++clock;
  return clock;
}

// A strategy that wastes power has bounds that matter at clocks at which it does not keep the cap. The time at a clock
// far below shows this for all of them.
std::optional<std::uint32_t> CappedClock::among_those_that_matter() {
  for (std::size_t i = ask_.bounds.size(); i-- > 0;) {
    if (!may_matter(i)) continue;
    if (keeps(lower_and_in_time(i)) == Keeps::no_matter) return std::nullopt;
    if (!may_matter(i)) continue;
    const Keeps kept = keeps(clock_of(i));
    if (kept == Keeps::no_matter) return std::nullopt;
    if (kept == Keeps::yes) return highest_from(clock_of(i));
  }
  return std::nullopt;
}

// No clock above one that does not keep the cap keeps it, if a lower one does.
std::optional<std::uint32_t> CappedClock::highest_from(std::uint32_t kept) {
  for (; kept > 0; --kept) {
    if (kept > ask_.span.highest && ruled_out_[kept - 1 - ask_.span.highest]) return kept;
    const Keeps above = keeps(kept - 1);
    if (above == Keeps::no) return kept;
    if (above == Keeps::no_matter || kept == ask_.span.highest) return std::nullopt;
  }
  return kept;
}

// The lowest clock does not keep the cap. If power falls there, lower clocks may keep the cap, else higher ones.
std::optional<std::uint32_t> CappedClock::where_power_rises() {
  const ClockSpan& span = ask_.span;
  if (span.lowest == span.highest || keeps(span.lowest - 1) == Keeps::no_matter) return std::nullopt;
  if (power_w(span.lowest) <= power_w(span.lowest - 1)) return std::nullopt;
  for (std::uint32_t clock = span.highest; clock < span.lowest; ++clock) {
    const Keeps kept = keeps(clock);
    if (kept == Keeps::no_matter) return std::nullopt;
    if (kept == Keeps::yes) return highest_from(clock);
  }
  return std::nullopt;
}

CappedClock::Keeps CappedClock::keeps(std::uint32_t clock) {
  if (!scores_.contains(clock)) {
    const auto hopeless = [&](const IterationScore& least) {
      if (least.executed) return false;  // other spans ask for the score, to the last bit
      learn(clock, least);
      return !may_matter();
    };
    const std::optional<IterationScore> score = ask_.score(clock, hopeless);
    if (!score) return Keeps::no_matter;
    learn(clock, *score);
    scores_.emplace(clock, *score);
  }
  const bool kept = power_w(clock) <= ask_.cap_w;
  rule_out(clock, kept);
  if (!may_matter()) return Keeps::no_matter;
  return kept ? Keeps::yes : Keeps::no;
}

void CappedClock::rule_out(std::uint32_t clock, bool kept) {
  const double seconds = to_seconds(scores_.at(clock).time);
  for (std::size_t i = 0; i < ruled_out_.size(); ++i) {
    const std::uint32_t other = clock_of(i);
    const bool never = other < clock && keeping_s(ask_.bounds[i]) > seconds;
    if (never || (kept ? other > clock : other == clock)) ruled_out_[i] = true;
  }
}

// Nothing is faster at lower clocks.
void CappedClock::learn(std::uint32_t clock, const IterationScore& least) {
  for (std::size_t i = 0; i < ask_.bounds.size(); ++i) {
    const std::uint32_t other = clock_of(i);
    TimeAndWork& bound = ask_.bounds[i];
    if (other >= clock) bound.time = std::max(bound.time, least.time);
    if (other != clock) continue;
    bound.working_j = std::max(bound.working_j, least.energy_j - ask_.blocked_w * to_seconds(least.time));
  }
}

bool CappedClock::may_matter() const {
  for (std::size_t i = 0; i < ask_.bounds.size(); ++i) {
    if (may_matter(i)) return true;
  }
  return false;
}

ClockScores ScoredStrategies::of(const TreePlace& place, const Strategy& strategy) const {
  const auto known = known_.find(key_of(place));
  if (known == known_.end()) return {};
  const auto scored = std::find_if(known->second.begin(), known->second.end(),
                                   [&](const Scored& one) { return one.strategy == strategy; });
  return scored == known->second.end() ? ClockScores() : scored->scores;
}

void ScoredStrategies::add(const TreePlace& place, const Strategy& strategy, const ClockScores& scores) {
  std::vector<Scored>& all = known_[key_of(place)];
  const auto known = std::find_if(all.begin(), all.end(), [&](const Scored& one) { return one.strategy == strategy; });
  Scored& scored = known == all.end() ? all.emplace_back(Scored{strategy, {}}) : *known;
  scored.scores.insert(scores.begin(), scores.end());
}

}  // namespace mirfak
