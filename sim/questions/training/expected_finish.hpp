#pragma once

#include "program/job.hpp"
#include "training/operations.hpp"
#include "training/renewal.hpp"

#include <cstdint>

namespace mirfak {

// The expected end of a training as a function of the time of an iteration: the closed form of renewal.hpp, for a
// search, which evaluates it for every bound. With n iterations of t seconds, a state saved every D = max(interval, t)
// seconds of training, and C(D) = exp(L (u + w)) (exp(L (D + s)) - 1) / L as the mean time from one such lasting state
// to the next (D over the goodput), it is
//   F(t) = (n t C(D) / D + pauses) x maintenance.
// F never falls as t rises, so that a bound of t gives a bound of F: while t is below the interval, D and C are
// constant and F is linear in t; above, D = t and F contains n C(t), where C rises; both meet at t = D. If the whole
// training is shorter than the interval, D = n t: the last state is saved once.
class ExpectedFinish {
 public:
  // `job`: its model, training and framework, and the nodes that are used; its strategy does not matter. `operations`:
  // for these nodes (on_nodes()). Error(infeasible) at the place of an input that the closed form does not cover: a
  // ramp of the batch, a log, a length in GPU hours, single nodes that are worse.
  ExpectedFinish(const Job& job, const Operations& operations);

  double at(double iteration_s) const;  // seconds from start to finish; infinite if next to no progress lasts, or
                                        // saving takes longer than its interval

 private:
  std::int64_t iterations_ = 0;
  RenewalCase renewal_;
  double interval_s_ = 0;
  bool never_ends_ = false;
  double pauses_s_ = 0;
  double stretch_ = 1;  // factor of maintenance
};

// Returns the operations with the failure rates of a whole cluster scaled to the nodes that are used.
Operations on_nodes(Operations operations, const Cluster& whole, const Cluster& used);

}  // namespace mirfak
