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

// Clocks that are bounded together: a few in a row of clock_choices(), by their numbers there.
struct ClockSpan {
  std::uint32_t highest = 0;
  std::uint32_t lowest = 0;
};

// Where the jobs of a search may run: so many nodes of each type, at clocks of one span.
class ClusterChoices {
 public:
  struct Choice {
    NodeCounts counts;
    std::uint32_t number = 0;  // of these counts, in the order of the space
    std::uint32_t span = 0;    // of clocks, the highest first
    ClusterRates rates;
  };

  ClusterChoices(const Job& job, const SearchSpec& spec);

  std::size_t size() const { return choices_.size(); }
  const Choice& operator[](std::size_t i) const { return choices_[i]; }
  const std::vector<ClockSpan>& spans() const { return spans_; }
  // On all nodes, at the highest clocks of a span.
  const Job& job_of(std::size_t span) const { return jobs_[spans_[span].highest]; }
  // By how much a span's lowest clocks are below its highest, at most.
  double lowest_share(std::size_t span) const;
  // The nodes of a choice with their types in some order (in_every_order), or spread over stages, at a clock.
  Cluster placed(const Choice& choice, std::uint32_t clock, std::uint32_t order, bool spread, int stages) const;

 private:
  std::deque<Job> jobs_;  // by clock
  std::vector<ClockSpan> spans_;
  std::vector<Choice> choices_;
};

// Of a span, the clock that a strategy runs at: the highest at which it keeps a power cap. Nothing: it is of another
// span, or keeps it nowhere. `power_w`: on average over an iteration at a clock, asked of as few as it takes. Towards
// lower clocks power falls, and where what does not depend on the clock prevails it may rise again.
std::optional<std::uint32_t> clock_that_keeps(const ClockSpan& span, double cap_w,
                                              const std::function<double(std::uint32_t)>& power_w);

}  // namespace mirfak
