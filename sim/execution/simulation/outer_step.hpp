#pragma once

#include "program/job.hpp"
#include "program/stage_plan.hpp"

#include <span>

namespace mirfak {

// Cost of joining learners (LocalSteps), for one of them. M learners in a ring send 2 (M - 1)/M of what they
// exchange; a fragment of P takes t = 2 (M - 1)/M bytes / (P bandwidth) + 2 (M - 1) latency. Each of the P fragments
// is exchanged once in H steps, while D steps of T seconds go on. Within H steps a learner therefore waits
//   max(P max(0, t - D T), P t - H T, 0)
// where the second term holds if fragments follow each other faster than the link sends them.
struct OuterStep {
  int learners = 0;       // learners that are joined; 0: none
  double sent_bytes = 0;  // bytes that a learner sends in one exchange of all fragments
  double exchange_s = 0;  // time of the exchanges of all fragments, one after the other
  double exposed_s = 0;   // waiting, spread evenly over the H steps: seconds of one step
  double bandwidth = 0;   // bytes/s of a learner to the others

  friend bool operator==(const OuterStep&, const OuterStep&) = default;
};

// Returns the figures for steps of `step_s` seconds; zeros without learners. `plans`: all of the job's. Left out, and
// noted (notes_on()): the outer optimizer's arithmetic, and traffic of learners that use the same links.
// Error(infeasible) if nothing says how learners reach each other.
OuterStep outer_step(const Job& job, std::span<const StagePlan> plans, double step_s);

}  // namespace mirfak
