#include "plan/capped_clock.hpp"

#include <algorithm>

namespace mirfak {

std::uint32_t CappedClock::likely() const {
  const auto kept = std::find_if(ask_.bounds.begin(), ask_.bounds.end() - 1,
                                 [&](const TimeAndWork& bound) { return to_seconds(bound.time) >= keeping_s(bound); });
  return clock_of(static_cast<std::size_t>(kept - ask_.bounds.begin()));
}

std::optional<std::uint32_t> CappedClock::find() {
  const std::uint32_t first = likely();
  for (std::uint32_t clock = first; clock <= ask_.span.lowest; ++clock) {
    const Keeps kept = keeps(clock);
    if (kept == Keeps::no_matter) return std::nullopt;
    if (kept == Keeps::yes) return clock == first ? highest_from(clock) : std::optional(clock);
  }
  return where_power_rises();
}

// No clock above one that does not keep the cap keeps it, if a lower one does.
std::optional<std::uint32_t> CappedClock::highest_from(std::uint32_t kept) {
  for (; kept > 0; --kept) {
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
    if (!ruled_out_[i] && !ask_.excluded(ask_.merit(ask_.bounds[i]))) return true;
  }
  return false;
}

}  // namespace mirfak
