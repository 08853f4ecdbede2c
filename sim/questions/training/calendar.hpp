#pragma once

#include <cstdint>
#include <vector>

namespace mirfak {

// Consecutive iterations that take the same time: a whole training, or its iterations between two steps of a ramp.
struct WorkPhase {
  std::int64_t iterations = 0;
  double iteration_s = 0;
  double power_w = 0;  // power of the machine while it trains
};

// A place to which states of the training are saved. A save begins at the end of an iteration and stops the training
// for `stall_s`. The save counts `write_s` later; training goes on during this time.
struct CheckpointTier {
  double interval_s = 0;   // training between saves; rounded to whole iterations. 0: after every iteration
  double stall_s = 0;      // a blocking save: its whole time
  double write_s = 0;      // an asynchronous save: time of writing in parallel with training
  double read_s = 0;       // additional time of a restart from it
  bool in_memory = false;  // in memory of other nodes: lost when a failure takes more than `survives` nodes
  int survives = 0;
};

// Evaluation after every `every` iterations. 0: none.
struct EvaluationPause {
  std::int64_t every = 0;
  double duration_s = 0;
};

// Times of an undisturbed training: seconds of training, saving and evaluating up to the end of each iteration, and the
// iterations after which states are saved. The time of each query does not grow with the number of iterations. The last
// iteration's state is always saved in the tiers that are not in memory.
class WorkCalendar {
 public:
  // `phases` is not empty; iterations and times are above 0.
  WorkCalendar(std::vector<WorkPhase> phases, std::vector<CheckpointTier> tiers, EvaluationPause evaluation);

  std::int64_t iterations() const { return iterations_; }
  const std::vector<CheckpointTier>& tiers() const { return tiers_; }
  const EvaluationPause& evaluation() const { return evaluation_; }
  const std::vector<WorkPhase>& phases() const { return phases_; }
  const WorkPhase& phase_at(std::int64_t iteration) const;  // phase after that many iterations

  // Sums over the first `iteration` iterations.
  double work_until(std::int64_t iteration) const;
  double saving_until(std::int64_t iteration) const;
  double evaluation_until(std::int64_t iteration) const;
  double energy_until(std::int64_t iteration) const;  // joules of the training alone
  // Returns the time from the end of iteration `from` to the end of iteration `to`, saving and evaluating after it
  // included, if iterations take `slowdown` times as long.
  double elapsed(std::int64_t from, std::int64_t to, double slowdown) const;

  // Returns the last iteration whose state is saved in this tier `seconds` after a (re)start that follows iteration
  // `from`; `from`: none since then.
  std::int64_t saved_within(std::size_t tier, std::int64_t from, double seconds, double slowdown) const;
  // Returns the last iteration that is finished `seconds` after that start, including saving and evaluating after it.
  std::int64_t finished_within(std::int64_t from, double seconds, double slowdown) const;

  std::int64_t saves_until(std::size_t tier, std::int64_t iteration) const;
  std::int64_t iterations_between_saves(std::size_t tier) const;  // in the last phase

 private:
  struct Stretch {  // one phase
    std::int64_t first = 0;
    double work_before = 0;
    double energy_before = 0;
    std::vector<std::int64_t> every;   // iterations between saves, by tier
    std::vector<std::int64_t> before;  // saves in the phases before, by tier
  };
  std::size_t stretch_of(std::int64_t iteration) const;
  std::int64_t place_of(std::size_t tier, std::int64_t save) const;
  bool saves_the_end(std::size_t tier) const;

  std::vector<WorkPhase> phases_;
  std::vector<CheckpointTier> tiers_;
  EvaluationPause evaluation_;
  std::vector<Stretch> stretches_;
  std::int64_t iterations_ = 0;
};

}  // namespace mirfak
