#include "training/renewal.hpp"

#include <algorithm>
#include <cmath>

namespace mirfak {

double renewal_goodput(const RenewalCase& of, double interval_s) {
  if (of.rate == 0) return interval_s / (interval_s + of.stall_s);
  const double goodput = of.rate * interval_s * std::exp(-of.rate * (of.restart_s + of.write_s)) /
                         std::expm1(of.rate * (interval_s + of.stall_s));
  return std::isfinite(goodput) ? goodput : 0;
}

double best_interval(const RenewalCase& of) {
  const double least = std::max(0.0, of.write_s - of.stall_s);
  if (of.rate == 0 || of.stall_s == 0) return least;
  // With x = L D: x + L s + log(1 - x) = 0, which falls from L s at 0 to below 0 at 1.
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

RenewalCase renewal_case(const TrainingCourse& course, std::size_t tier) {
  return renewal_case(course.failures, course.calendar.tiers(), tier, course.detection_s + course.restart_s);
}

RenewalCase renewal_case(const Failures& failures, const std::vector<CheckpointTier>& tiers, std::size_t tier,
                         double restart_s) {
  const CheckpointTier& of = tiers[tier];
  double rate = 0;
  for (const FailureCause& cause : failures.causes) {
    const bool held_in_memory = !of.in_memory && tiers.size() > 1 && cause.nodes <= tiers.front().survives;
    if (!held_in_memory && cause.notice_s == 0) rate += cause.rate_per_s;
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
