#include "training/calendar.hpp"

#include <algorithm>
#include <cmath>

namespace mirfak {

namespace {

// Returns the last number from first to last - 1 for which `holds` is true, or first - 1; `holds` is true up to some
// number and false after it. Looks near `guess` first, in growing steps.
template <typename Holds>
std::int64_t last_that(std::int64_t first, std::int64_t last, double guess, const Holds& holds) {
  std::int64_t good = first - 1;
  std::int64_t bad = last;
  auto next = static_cast<std::int64_t>(std::clamp(guess, static_cast<double>(good), static_cast<double>(last)));
  for (std::int64_t step = 1; bad - good > 1; step *= 2) {
    next = std::clamp(next, good + 1, bad - 1);
    if (holds(next)) {
      good = next;
      next += step;
    } else {
      bad = next;
      next -= step;
    }
    if (step > 4) next = good + (bad - good) / 2;
  }
  return good;
}

std::int64_t whole_iterations(double interval_s, double iteration_s) {
  return std::max<std::int64_t>(1, std::llround(interval_s / iteration_s));
}

}  // namespace

WorkCalendar::WorkCalendar(std::vector<WorkPhase> phases, std::vector<CheckpointTier> tiers, EvaluationPause evaluation)
    : phases_(std::move(phases)), tiers_(std::move(tiers)), evaluation_(evaluation) {
  Stretch next;
  next.before.assign(tiers_.size(), 0);
  for (const WorkPhase& phase : phases_) {
    next.every.clear();
    for (const CheckpointTier& tier : tiers_)
      next.every.push_back(whole_iterations(tier.interval_s, phase.iteration_s));
    stretches_.push_back(next);
    next.first += phase.iterations;
    const double seconds = static_cast<double>(phase.iterations) * phase.iteration_s;
    next.work_before += seconds;
    next.energy_before += seconds * phase.power_w;
    for (std::size_t tier = 0; tier < tiers_.size(); ++tier) next.before[tier] += phase.iterations / next.every[tier];
  }
  iterations_ = next.first;
}

std::size_t WorkCalendar::stretch_of(std::int64_t iteration) const {
  std::size_t found = 0;
  while (found + 1 < stretches_.size() && stretches_[found + 1].first <= iteration) ++found;
  return found;
}

const WorkPhase& WorkCalendar::phase_at(std::int64_t iteration) const { return phases_[stretch_of(iteration)]; }

double WorkCalendar::work_until(std::int64_t iteration) const {
  const std::size_t place = stretch_of(iteration);
  return stretches_[place].work_before +
         static_cast<double>(iteration - stretches_[place].first) * phases_[place].iteration_s;
}

double WorkCalendar::energy_until(std::int64_t iteration) const {
  const std::size_t place = stretch_of(iteration);
  const double seconds = static_cast<double>(iteration - stretches_[place].first) * phases_[place].iteration_s;
  return stretches_[place].energy_before + seconds * phases_[place].power_w;
}

bool WorkCalendar::saves_the_end(std::size_t tier) const {
  const std::int64_t left_over = phases_.back().iterations % stretches_.back().every[tier];
  return !tiers_[tier].in_memory && left_over != 0;
}

std::int64_t WorkCalendar::saves_until(std::size_t tier, std::int64_t iteration) const {
  const Stretch& stretch = stretches_[stretch_of(iteration)];
  const std::int64_t last = iteration == iterations_ && saves_the_end(tier) ? 1 : 0;
  return stretch.before[tier] + (iteration - stretch.first) / stretch.every[tier] + last;
}

std::int64_t WorkCalendar::place_of(std::size_t tier, std::int64_t save) const {
  std::size_t place = 0;
  while (place + 1 < stretches_.size() && stretches_[place + 1].before[tier] < save) ++place;
  const Stretch& stretch = stretches_[place];
  return std::min(iterations_, stretch.first + (save - stretch.before[tier]) * stretch.every[tier]);
}

double WorkCalendar::saving_until(std::int64_t iteration) const {
  double seconds = 0;
  for (std::size_t tier = 0; tier < tiers_.size(); ++tier) {
    if (tiers_[tier].stall_s > 0) seconds += static_cast<double>(saves_until(tier, iteration)) * tiers_[tier].stall_s;
  }
  return seconds;
}

double WorkCalendar::evaluation_until(std::int64_t iteration) const {
  if (evaluation_.every == 0) return 0;
  const std::int64_t evaluations = iteration / evaluation_.every;
  return static_cast<double>(evaluations) * evaluation_.duration_s;
}

double WorkCalendar::elapsed(std::int64_t from, std::int64_t to, double slowdown) const {
  return slowdown * (work_until(to) - work_until(from)) + (saving_until(to) - saving_until(from)) +
         (evaluation_until(to) - evaluation_until(from));
}

std::int64_t WorkCalendar::saved_within(std::size_t tier, std::int64_t from, double seconds, double slowdown) const {
  const std::int64_t before = saves_until(tier, from);
  const double write_s = tiers_[tier].write_s;
  const std::size_t place = stretch_of(from);
  const double cycle_s = slowdown * static_cast<double>(stretches_[place].every[tier]) * phases_[place].iteration_s;
  const double guess = static_cast<double>(before) + seconds / (cycle_s + tiers_[tier].stall_s);
  const std::int64_t save = last_that(before + 1, saves_until(tier, iterations_) + 1, guess, [&](std::int64_t one) {
    return elapsed(from, place_of(tier, one), slowdown) + write_s <= seconds;
  });
  return save == before ? from : place_of(tier, save);
}

std::int64_t WorkCalendar::finished_within(std::int64_t from, double seconds, double slowdown) const {
  const double guess = static_cast<double>(from) + seconds / (slowdown * phase_at(from).iteration_s);
  return last_that(from + 1, iterations_ + 1, guess,
                   [&](std::int64_t iteration) { return elapsed(from, iteration, slowdown) <= seconds; });
}

std::int64_t WorkCalendar::iterations_between_saves(std::size_t tier) const { return stretches_.back().every[tier]; }

}  // namespace mirfak
