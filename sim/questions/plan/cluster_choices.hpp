#pragma once

#include "plan/candidate_clusters.hpp"
#include "plan/cluster_rates.hpp"
#include "plan/layer_bound.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

namespace mirfak {

// Consecutive clocks of clock_choices() that are bounded together, by their numbers there.
struct ClockSpan {
  std::uint32_t highest = 0;
  std::uint32_t lowest = 0;
};

// Nodes and clocks on which the jobs of a search may run: a number of nodes of each type, at the clocks of one span.
class ClusterChoices {
 public:
  struct Choice {
    NodeCounts counts;
    std::uint32_t number = 0;  // number of these counts, in the order of the space
    std::uint32_t span = 0;    // number of the span of clocks, the highest first
    ClusterRates rates;
  };

  ClusterChoices(const Job& job, const SearchSpec& spec);

  std::size_t size() const { return choices_.size(); }
  const Choice& operator[](std::size_t i) const { return choices_[i]; }
  const std::vector<ClockSpan>& spans() const { return spans_; }
  // Job on all nodes, at the highest clocks of a span.
  const Job& job_of(std::size_t span) const { return jobs_[spans_[span].highest]; }
  // Least ratio of a span's lowest clock to its highest clock, over all types of nodes.
  double lowest_share(std::size_t span) const;
  // The nodes of a choice with their types in some order (in_every_order), or spread over stages, at a clock.
  Cluster placed(const Choice& choice, std::uint32_t clock, std::uint32_t order, bool spread, int stages) const;

 private:
  std::deque<Job> jobs_;  // one for each clock
  std::vector<ClockSpan> spans_;
  std::vector<Choice> choices_;
};

// Returns the clock of the span at which a strategy runs: the highest clock at which it keeps the power cap. Returns
// nothing if that clock is in another span or no clock keeps the cap. `power_w`: average power over an iteration at a
// clock; it is called as few times as possible. Power falls towards lower clocks, but may rise again where the power
// that does not depend on the clock prevails.
std::optional<std::uint32_t> clock_that_keeps(const ClockSpan& span, double cap_w,
                                              const std::function<double(std::uint32_t)>& power_w);

}  // namespace mirfak
