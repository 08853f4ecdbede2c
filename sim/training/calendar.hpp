#pragma once

#include <cstdint>
#include <vector>

namespace mirfak {

// Iterations in a row that take the same time: all of a training, or what lies between two steps of a ramp.
struct WorkPhase {
  std::int64_t iterations = 0;
  double iteration_s = 0;
  double power_w = 0;  // of the machine while it trains
};

// Where states of the training are saved. A save begins at the end of an iteration, holds the training up for
// `stall_s`, and counts `write_s` later, during which training goes on.
struct CheckpointTier {
  double interval_s = 0;   // of training between saves; made into whole iterations. 0: after every iteration
  double stall_s = 0;      // a blocking save: all of its time
  double write_s = 0;      // an asynchronous one: what is written beside training
  double read_s = 0;       // by which a restart from it is longer
  bool in_memory = false;  // of other nodes: lost when a failure takes more than `survives` nodes
  int survives = 0;
};

// Evaluation after every so many iterations. 0: none.
struct EvaluationPause {
  std::int64_t every = 0;
  double duration_s = 0;
};

// When what happens in an undisturbed training: seconds of training, saving and evaluating up to the end of each
// iteration, and the iterations after which states are saved. Each answer takes a time that does not grow with the
// number of iterations. The last iteration's state is always saved in the tiers that are not in memory.
class WorkCalendar {
 public:
  // `phases` are not empty, their iterations and times above 0.
  WorkCalendar(std::vector<WorkPhase> phases, std::vector<CheckpointTier> tiers, EvaluationPause evaluation);

  std::int64_t iterations() const { return iterations_; }
  const std::vector<CheckpointTier>& tiers() const { return tiers_; }
  const EvaluationPause& evaluation() const { return evaluation_; }
  const std::vector<WorkPhase>& phases() const { return phases_; }
  const WorkPhase& phase_at(std::int64_t iteration) const;  // of the iteration that follows that many

  // Of the first so many iterations.
  double work_until(std::int64_t iteration) const;
  double saving_until(std::int64_t iteration) const;
  double evaluation_until(std::int64_t iteration) const;
  double energy_until(std::int64_t iteration) const;  // joules of the training alone
  // From the end of iteration `from` to that of `to`, saving and evaluating after it included, where iterations take
  // `slowdown` times as long.
  double elapsed(std::int64_t from, std::int64_t to, double slowdown) const;

  // The last iteration whose state is saved in this tier `seconds` after a (re)start behind iteration `from`; `from`:
  // none since then.
  std::int64_t saved_within(std::size_t tier, std::int64_t from, double seconds, double slowdown) const;
  // The last iteration that is finished then, what follows it included.
  std::int64_t finished_within(std::int64_t from, double seconds, double slowdown) const;

  std::int64_t saves_until(std::size_t tier, std::int64_t iteration) const;
  std::int64_t iterations_between_saves(std::size_t tier) const;  // of the last phase

 private:
  struct Stretch {  // of a phase
    std::int64_t first = 0;
    double work_before = 0;
    double energy_before = 0;
    std::vector<std::int64_t> every;   // of each tier
    std::vector<std::int64_t> before;  // saves in each tier in the phases before
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
