#pragma once

#include "training/run.hpp"

namespace mirfak {

// Runs one training of several learners (TrainingCourse::learners), each with failures, spares and restarts of its own.
// The others go on without a learner that is away, so work is done in proportion to the learners that train:
//   - The training ends when all learners together have done `learners` times the iterations of the course.
//   - While fewer than `quorum` learners train, those that do wait for the others.
//   - When a learner goes or comes back, all others wait for `reconfiguration_s`.
// A wait counts as `waiting`, and does not move a learner's failures, which follow its own clock. Parts of the result
// are means over learners, so their sum is the time to finish; costs, energies, restarts and counts are sums.
// `spans`: those of the first learner, without waits for others. Errors as of run_training().
RunResult run_learners(const TrainingCourse& course, RandomStream random, std::vector<RunSpan>* spans = nullptr);

}  // namespace mirfak
