#include "plan/cluster_choices.hpp"

#include <algorithm>
#include <utility>

namespace mirfak {

namespace {

constexpr std::size_t kSpan = 10;  // clocks: the fewer, the tighter bounds of nodes are, but the more there are

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

std::vector<double> ClusterChoices::lower_clocks(std::size_t span) const {
  std::vector<double> out;
  for (std::uint32_t clock = spans_[span].highest + 1; clock <= spans_[span].lowest; ++clock) {
    out.push_back(clock_share(clock));
  }
  return out;
}

Cluster ClusterChoices::placed(const Choice& choice, std::uint32_t clock, std::uint32_t order, bool spread,
                               int stages) const {
  const Cluster cluster = *in_every_order(jobs_[clock].cluster, choice.counts)[order];
  return spread ? spread_over_stages(cluster, stages).value() : cluster;
}

}  // namespace mirfak
