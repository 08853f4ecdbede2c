#pragma once

#include "training/run.hpp"

namespace mirfak {

// A training with checkpoints and failures of constant rate. Failures also strike restarts, and take the training back
// to the last checkpoint. Times are in seconds, rates in failures per second.
struct RenewalCase {
  double rate = 0;
  double stall_s = 0;    // time that training waits at each checkpoint
  double write_s = 0;    // additional time until a checkpoint counts: asynchronous
  double restart_s = 0;  // detection, restart, reading
};

// Returns the share of a long time that makes lasting progress, with `interval_s` of training between checkpoints:
//   L D exp(-L (u + w)) / (exp(L (D + s)) - 1)
// for rate L, interval D, stall s, write w and restart u. For blocking checkpoints (w = 0) this is the renewal formula
// (Daly, Future Generation Computer Systems 22, 2006, eq. 20). For asynchronous ones, each failure needs w more before
// the first checkpoint after it counts, and no failure may fall into that time.
double renewal_goodput(const RenewalCase& of, double interval_s);

// Returns the interval with the largest goodput: exp(L (D + s)) (1 - L D) = 1; sqrt(2 s / L) if failures are rare
// (Young, Communications of the ACM 17, 1974). The interval is long enough for a write to end before the next begins.
// Infinite if saves cost something and nothing ever fails.
double best_interval(const RenewalCase& of);

// Returns a training as a renewal case. Its rate is that of the failures for which the tier is needed, without those
// that a tier in memory outlives; for a log it is the mean rate until the log ends. Waiting for nodes, evaluations and
// maintenance are not included.
RenewalCase renewal_case(const TrainingCourse& course, std::size_t tier);
// `restart_s`: detection and restart.
RenewalCase renewal_case(const Failures& failures, const std::vector<CheckpointTier>& tiers, std::size_t tier,
                         double restart_s);
// Returns the expected time of the training in this model: its work over the goodput.
double renewal_finish(const TrainingCourse& course);

}  // namespace mirfak
