#pragma once

#include "training/run.hpp"

#include <memory>
#include <vector>

namespace mirfak {

// State of one learner's run at the end of a stretch in which the learner trains, or in which it comes back.
struct LearnerPoint {
  double time_s = 0;
  bool trained = false;  // the stretch that ends here is training; else the learner is away
  double work_s = 0;     // undisturbed time of its iterations that are finished and not lost
  RunResult sums;        // sums until here, without the part `training`
};

// One learner's run, which goes on as long as asked: the run of run_training(), stopped and resumed.
class LearnerRun {
 public:
  // `course` outlives the run, and has more iterations than the learner will do. `spans`: as of run_training().
  LearnerRun(const TrainingCourse& course, RandomStream random, std::vector<RunSpan>* spans);
  LearnerRun(LearnerRun&& other) noexcept;
  LearnerRun& operator=(LearnerRun&& other) noexcept;
  ~LearnerRun();

  // Goes on until a stretch ends at `time_s` or later.
  void run_until(double time_s);
  const std::vector<LearnerPoint>& points() const;  // the first is the start, in the order of time

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace mirfak
