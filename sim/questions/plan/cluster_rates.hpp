#pragma once

#include "plan/candidate_clusters.hpp"
#include "plan/standing.hpp"
#include "plan/work_division.hpp"
#include "training/expected_finish.hpp"

#include <optional>
#include <span>

namespace mirfak {

// Cost and power of a cluster, whatever runs on it, and the bounds of merits that follow from them.
struct ClusterRates {
  double usd_per_s = 0;                  // 0: some nodes have no price
  double blocked_w = 0;                  // power of all GPUs while they wait
  double cap_w = 0;                      // average power of all GPUs allowed over an iteration; 0: any
  std::optional<ExpectedFinish> finish;  // end of a training; nothing: it is not asked for

  double finish_at(double seconds) const { return finish ? finish->at(seconds) : 0; }
  // Returns the merit of an iteration.
  Merit at(double seconds, double energy_j) const {
    return {seconds, usd_per_s * seconds, energy_j, finish_at(seconds)};
  }
  // Returns the least merit of an iteration that takes at least `seconds` and needs at least `working_j` above the
  // energy of waiting. Under a cap the time is at least such that (working_j + blocked_w t) / t <= cap_w. Infinite
  // seconds: the cap is never kept.
  Merit least(double seconds, double working_j) const;
  // Returns the least merit of such an iteration if `units` of work are shared by `places`, which need at least
  // `working_j`.
  Merit least(double seconds, double working_j, std::span<const WorkPlace> places, double units) const;
};

// Returns the rates of a cluster with `counts` nodes of each type of `cluster`.
ClusterRates rates_of(const Cluster& cluster, const NodeCounts& counts, double cap_w);

}  // namespace mirfak
