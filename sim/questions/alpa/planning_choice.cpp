#include "alpa/planning_choice.hpp"

#include "alpa/basics.hpp"
#include "base/error.hpp"
#include "program/data_parallel.hpp"

#include <algorithm>
#include <set>

namespace mirfak::alpa {

namespace {

// Returns the numbers of sequences of a microbatch that divide the batch.
std::vector<int> sequences_of_microbatches(const Job& job, const StrategySpace& space) {
  std::set<int> out;
  for (const int of_replica : space.micro_batch) {
    for (int replicas = 1; replicas <= job.cluster.gpus(); replicas *= 2) {
      const std::int64_t sequences = std::int64_t{of_replica} * replicas;
      if (job.training.global_batch % sequences == 0) out.insert(static_cast<int>(sequences));
    }
    const std::int64_t all = std::int64_t{of_replica} * job.cluster.gpus();
    if (job.training.global_batch % all == 0) out.insert(static_cast<int>(all));
  }
  return {out.begin(), out.end()};
}

// Returns the fields that planning takes as given; the engine tries the other values of the space (neighbours.hpp).
Strategy common_strategy(const StrategySpace& space) {
  Strategy out = space.others;
  out.tensor = out.context = out.pipeline = out.virtual_pipeline = out.data = out.expert = 1;
  out.schedule = kDefaultSchedule;
  out.overlap_tensor = space.overlap_tensor.front();
  out.nanobatches = space.nanobatches.front();
  out.communication_sms = space.communication_sms.front();
  out.recompute_method = space.recompute_method.front();
  out.sequence_parallel = has(space.sequence_parallel, true);
  out.overlap_grad_reduce = space.overlap_grad_reduce.front();
  out.overlap_param_gather = space.overlap_param_gather.front();
  out.offload_optimizer = space.offload_optimizer.front();
  return out;
}

void check(const StrategySpace& space) {
  const auto need = [](bool there, const char* key, const char* what) {
    if (there) return;
    fail_infeasible({}, std::string("Alpa's planner needs ") + what + " in search.space." + key,
                    "leave the key out of the scenario, or use --planner search");
  };
  need(has(space.context, 1), "context", "1");
  need(has(space.virtual_pipeline, 1), "virtual_pipeline", "1");
  need(has(space.schedule, kDefaultSchedule), "schedule", "1f1b");
}

// Returns the numbers of recomputed layers to plan with: powers of two, and all layers.
std::vector<int> recomputed_layers(const StrategySpace& space, std::int64_t layers, Recompute recompute) {
  if (recompute == Recompute::none) return {0};
  std::vector<int> out;
  for (int some = 0; some < layers; some = some == 0 ? 1 : 2 * some) {
    if (has(space.recompute_layers, some)) out.push_back(some);
  }
  if (out.empty()) out = space.recompute_layers;
  return out;
}

// Adds one choice for all stages of ZeRO whose blocks are alike.
void add_states(const Job& job, const StrategySpace& space, PlanningChoice choice, std::vector<PlanningChoice>& out) {
  for (const bool in_passes : {false, true}) {
    choice.states.clear();
    for (const int layers : recomputed_layers(space, job.model.layers, choice.common.recompute)) {
      for (const int zero : space.zero) {
        if (gathers_in_passes(job.framework, zero) == in_passes) choice.states.push_back({zero, layers});
      }
    }
    if (choice.states.empty()) continue;
    choice.common.zero = choice.states.front().zero;
    out.push_back(choice);
  }
}

}  // namespace

std::vector<PlanningChoice> planning_choices(const Job& job, const StrategySpace& space) {
  check(space);
  std::vector<PlanningChoice> out;
  PlanningChoice choice;
  choice.common = common_strategy(space);
  for (const int sequences : sequences_of_microbatches(job, space)) {
    choice.sequences = sequences;
    for (const Recompute recompute : space.recompute) {
      choice.common.recompute = recompute;
      for (const int expert_tensor : space.expert_tensor) {
        choice.common.expert_tensor = expert_tensor;
        add_states(job, space, choice, out);
      }
    }
  }
  return out;
}

}  // namespace mirfak::alpa
