#pragma once

#include "plan/candidate_clusters.hpp"
#include "plan/standing.hpp"
#include "plan/work_division.hpp"
#include "training/expected_finish.hpp"

#include <optional>
#include <span>

namespace mirfak {

// What a cluster costs and draws, whatever runs on it, and bounds of merits that follow.
struct ClusterRates {
  double usd_per_s = 0;                  // 0: not all of it has a price
  double blocked_w = 0;                  // of all GPUs that wait
  double cap_w = 0;                      // what all may draw on average over an iteration; 0: any
  std::optional<ExpectedFinish> finish;  // of a training; nothing: nobody asks

  double finish_at(double seconds) const { return finish ? finish->at(seconds) : 0; }
  // Of an iteration that takes `seconds` at least and needs `working_j` above waiting at least. Under a cap it takes so
  // long that both fit: (working_j + blocked_w t) / t <= cap_w. Infinite seconds: it never does.
  Merit least(double seconds, double working_j) const;
  // The same where `units` of work are shared by `places`, which draw `working_j` at least.
  Merit least(double seconds, double working_j, std::span<const WorkPlace> places, double units) const;
};

// Of so many nodes of each type of `cluster`.
ClusterRates rates_of(const Cluster& cluster, const NodeCounts& counts, double cap_w);

}  // namespace mirfak
