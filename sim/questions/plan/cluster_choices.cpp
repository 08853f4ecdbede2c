#include "plan/cluster_choices.hpp"

#include <algorithm>
#include <utility>

namespace mirfak {

namespace {

constexpr std::size_t kSpan = 5;  // clocks: the fewer, the tighter the bounds, but the more of them there are

}  // namespace

ClusterChoices::ClusterChoices(const Job& job, const SearchSpec& spec) {
  for (Cluster& cluster : clock_choices(job.cluster, spec)) jobs_.emplace_back(job).cluster = std::move(cluster);
  for (std::size_t clock = 0; clock < jobs_.size(); clock += kSpan) {
    const std::size_t end = std::min(clock + kSpan, jobs_.size());
    spans_.push_back({static_cast<std::uint32_t>(clock), static_cast<std::uint32_t>(end - 1)});
  }
  std::uint32_t number = 0;
  for (const NodeCounts& counts : node_choices(job.cluster, spec)) {
    ClusterRates rates = rates_of(job.cluster, counts, spec.power_cap_w);
    if (spec.finish) rates.finish = spec.finish(*in_every_order(job.cluster, counts).front());
    for (std::uint32_t span = 0; span < spans_.size(); ++span) choices_.push_back({counts, number, span, rates});
    ++number;
  }
}

double ClusterChoices::lowest_share(std::size_t span) const {
  const auto highest = jobs_[spans_[span].highest].cluster.groups();
  const auto lowest = jobs_[spans_[span].lowest].cluster.groups();
  double share = 1;
  for (std::size_t i = 0; i < highest.size(); ++i) {
    share = std::min(share, lowest[i].hardware.clock_limit() / highest[i].hardware.clock_limit());
  }
  return share;
}

Cluster ClusterChoices::placed(const Choice& choice, std::uint32_t clock, std::uint32_t order, bool spread,
                               int stages) const {
  const Cluster cluster = *in_every_order(jobs_[clock].cluster, choice.counts)[order];
  return spread ? spread_over_stages(cluster, stages).value() : cluster;
}

std::optional<std::uint32_t> clock_that_keeps(const ClockSpan& span, double cap_w,
                                              const std::function<double(std::uint32_t)>& power_w) {
  const auto keeps = [&](std::uint32_t clock) { return power_w(clock) <= cap_w; };
  if (keeps(span.highest)) {
    const bool of_higher_span = span.highest > 0 && keeps(span.highest - 1);
    return of_higher_span ? std::nullopt : std::optional(span.highest);
  }
  if (span.lowest == span.highest) return std::nullopt;
  if (!keeps(span.lowest)) {
    if (power_w(span.lowest) <= power_w(span.lowest - 1)) return std::nullopt;  // it falls: lower clocks may keep it
    std::uint32_t clock = span.highest + 1;
    while (clock < span.lowest && !keeps(clock)) ++clock;
    return clock < span.lowest ? std::optional(clock) : std::nullopt;
  }
  std::uint32_t above = span.highest;
  std::uint32_t kept = span.lowest;
  while (kept - above > 1) {
    const std::uint32_t middle = (above + kept) / 2;
    (keeps(middle) ? kept : above) = middle;
  }
  return kept;
}

}  // namespace mirfak
