#pragma once

#include "training/run.hpp"

namespace mirfak {

// Checkpoints in a stream of failures of constant rate, which strike restarts too and take the training back to the
// last one. Times in seconds, rates in failures per second.
struct RenewalCase {
  double rate = 0;
  double stall_s = 0;    // training waits so long at each checkpoint
  double write_s = 0;    // so much later it counts: asynchronous
  double restart_s = 0;  // detection, restart, reading
};

// The share of a long time that makes lasting progress, with `interval_s` of training between checkpoints:
//   L D exp(-L (u + w)) / (exp(L (D + s)) - 1)
// for rate L, interval D, stall s, write w and restart u. With blocking checkpoints (w = 0) it is the renewal formula
// (Daly, Future Generation Computer Systems 22, 2006, eq. 20). An asynchronous one: each failure needs w more before
// the first checkpoint after it counts, and no failure may fall into that.
double renewal_goodput(const RenewalCase& of, double interval_s);

// The interval at which that is largest: exp(L (D + s)) (1 - L D) = 1; sqrt(2 s / L) where failures are rare (Young,
// Communications of the ACM 17, 1974). No shorter than what lets a write end before the next begins. Infinite where
// saves cost something and nothing ever fails.
double best_interval(const RenewalCase& of);

// A training as such a case: by the rate of what its tier of checkpoints does not share with a tier in memory, of a log
// the mean until it ends. Nodes that are waited for, evaluations and maintenance are not in it.
RenewalCase renewal_case(const TrainingCourse& course, std::size_t tier);
// `restart_s`: detection and restart.
RenewalCase renewal_case(const Failures& failures, const std::vector<CheckpointTier>& tiers, std::size_t tier,
                         double restart_s);
// What the training is expected to take so: its work over the goodput.
double renewal_finish(const TrainingCourse& course);

}  // namespace mirfak
