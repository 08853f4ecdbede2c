#include "program/outer_state.hpp"

#include "program/optimizer_step.hpp"
#include "program/sharded_state.hpp"

#include <algorithm>

namespace mirfak {

namespace {

constexpr double kOuterBytes = 8;  // parameters as last joined, and momentum, in fp32 (torchft/local_sgd.py)

}  // namespace

double outer_state_bytes(const Job& job, const StageParameters& parameters) {
  if (!job.training.local_steps.has_outer_state()) return 0;
  return kOuterBytes * shard_of(job, parameters.held(), &StateSharding::parameters);
}

double exchanged_bytes(const Job& job, std::span<const StagePlan> plans) {
  double elements = 0;
  for (const StagePlan& plan : plans) {
    const Strategy own = job.strategy.at(plan.stage);
    const HeldParameters held = plan.parameters.held();
    elements += plan.ranks * (held.shared / own.replicas() + held.experts / std::max(1, own.expert_replicas()));
  }
  return elements * exchange_format_of(job.training.local_steps).bytes;
}

}  // namespace mirfak
