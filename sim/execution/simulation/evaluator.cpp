// The global batch of a job decides only the number of microbatches, and the tokens of the training only the number of
// iterations: no block, kernel or collective depends on either. Everything else may matter, so everything else is
// compared: a field that is added to a job tells families apart until somebody shows that it need not.

#include "simulation/evaluator.hpp"

#include <algorithm>

namespace mirfak {

struct Evaluator::Family {
  explicit Family(const Job& job)
      : training(without_batch(job.training)),
        simulation(job),
        of_blocks(memory_of_blocks(simulation.job, simulation.blocks)) {}

  static TrainingSpec without_batch(TrainingSpec training) {
    training.global_batch = 0;
    training.tokens = 0;
    return training;
  }

  bool holds(const Job& job, const TrainingSpec& without) const {
    return job.strategy == simulation.job.strategy && without == training && job.framework == simulation.job.framework;
  }

  void set_batch(const TrainingSpec& wanted) {
    TrainingSpec& own = simulation.job.training;
    own.tokens = wanted.tokens;
    if (own.global_batch == wanted.global_batch) return;
    own.global_batch = wanted.global_batch;
    const Job& job = simulation.job;
    for (StagePlan& plan : simulation.plans) {
      plan.replicas.microbatches = microbatches(job.strategy, job.training, plan.replicas.first());
    }
    order_passes(job, simulation.blocks, simulation.plans);
  }

  TrainingSpec training;
  Simulation simulation;
  std::vector<BlockMemory> of_blocks;
};

Evaluator::Evaluator(std::size_t families_kept) : kept_(std::max<std::size_t>(1, families_kept)) {}

Evaluator::~Evaluator() = default;

Evaluator::Family& Evaluator::family_of(const Job& job) {
  const TrainingSpec without = Family::without_batch(job.training);
  const auto known = std::find_if(families_.begin(), families_.end(),
                                  [&](const Family& family) { return family.holds(job, without); });
  if (known != families_.end()) {
    families_.splice(families_.begin(), families_, known);
    return families_.front();
  }
  families_.emplace_front(job);
  ++made_;
  if (families_.size() > kept_) families_.pop_back();
  return families_.front();
}

const IterationResult& Evaluator::evaluate(const Job& job) {
  if (job.strategy.context_tokens > 0) return of_documents_ = simulate(job).result;
  Family& family = family_of(job);
  family.set_batch(job.training);
  family.simulation.run({}, Executor::automatic, family.of_blocks);
  return family.simulation.result;
}

}  // namespace mirfak
