#pragma once

#include "plan/candidate_clusters.hpp"
#include "plan/cluster_rates.hpp"
#include "plan/layer_bound.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
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
  // Clocks of a span below its highest, as shares of the highest clocks of GPUs, the highest first.
  std::vector<double> lower_clocks(std::size_t span) const;
  // The nodes of a choice with their types in some order (in_every_order), or spread over stages, at a clock.
  Cluster placed(const Choice& choice, std::uint32_t clock, std::uint32_t order, bool spread, int stages) const;

 private:
  std::deque<Job> jobs_;  // one for each clock
  std::vector<ClockSpan> spans_;
  std::vector<Choice> choices_;
};

}  // namespace mirfak
