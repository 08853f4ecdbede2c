#include "training/renewal.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace mirfak {

double renewal_goodput(const RenewalCase& of, double interval_s) {
  if (of.rate == 0) return interval_s / (interval_s + of.stall_s);
  const double goodput = of.rate * interval_s * std::exp(-of.rate * (of.restart_s + of.write_s)) /
                         std::expm1(of.rate * (interval_s + of.stall_s));
  return std::isfinite(goodput) ? goodput : 0;
}

double best_interval(const RenewalCase& of) {
  const double least = std::max(0.0, of.write_s - of.stall_s);
  if (of.stall_s == 0) return least;
  if (of.rate == 0) return std::numeric_limits<double>::infinity();
  // With x = L D, the equation is x + L s + log(1 - x) = 0; its left side falls from L s at 0 to below 0 at 1.
  const double stall = of.rate * of.stall_s;
  double low = 0;
  double high = 1;
  constexpr int kHalvings = 100;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    (middle + stall + std::log1p(-middle) > 0 ? low : high) = middle;
  }
  return std::max(least, low / of.rate);
}

namespace {

double rate_of(const Failures& failures, std::size_t cause) {
  if (failures.log.empty()) return failures.causes[cause].rate_per_s;
  const auto of_cause = std::count_if(failures.log.begin(), failures.log.end(),
                                      [&](const LoggedFailure& failure) { return failure.cause == cause; });
  const double until = failures.log.back().time_s;
  return until > 0 ? static_cast<double>(of_cause) / until : 0;
}

}  // namespace

RenewalCase renewal_case(const TrainingCourse& course, std::size_t tier) {
  return renewal_case(course.failures, course.calendar.tiers(), tier, course.detection_s + course.restart_s);
}

RenewalCase renewal_case(const Failures& failures, const std::vector<CheckpointTier>& tiers, std::size_t tier,
                         double restart_s) {
  const CheckpointTier& of = tiers[tier];
  double rate = 0;
  for (std::size_t i = 0; i < failures.causes.size(); ++i) {
    const FailureCause& cause = failures.causes[i];
    const bool held_in_memory = !of.in_memory && tiers.size() > 1 && cause.nodes <= tiers.front().survives;
    if (!held_in_memory && cause.notice_s == 0) rate += rate_of(failures, i);
  }
  return {rate, of.stall_s, of.write_s, restart_s + of.read_s};
}

double renewal_finish(const TrainingCourse& course) {
  const WorkCalendar& calendar = course.calendar;
  const double work = calendar.work_until(calendar.iterations());
  const std::size_t tier = calendar.tiers().size() - 1;
  const double interval =
      static_cast<double>(calendar.iterations_between_saves(tier)) * calendar.phases().back().iteration_s;
  return work / renewal_goodput(renewal_case(course, tier), interval);
}

}  // namespace mirfak
