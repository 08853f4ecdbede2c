#include "round_trip.hpp"

#include "strategy/strategy_fields.hpp"

#include <doctest/doctest.h>

#include <string>

namespace mirfak {

Strategy meant_strategy(const Job& job) {
  Strategy s = job.strategy;
  if (s.shards() == 1) s.zero = 0;
  if (s.zero == 0) s.zero_group = 0;
  if (s.zero_group == s.replicas()) s.zero_group = 0;
  if (s.zero >= 2) s.overlap_grad_reduce = true;  // in each backward pass
  if (s.zero >= 2) s.overlap_param_gather = false;
  if (s.replicas() == 1) s.overlap_grad_reduce = false;
  if (s.expert_tensor == s.tensor || job.model.mixture.experts == 0) s.expert_tensor = 0;
  if (s.expert == 1) s.expert_dispatcher = ExpertDispatcher::all_to_all;
  if (s.context == 1) s.context_communication = ContextCommunication::p2p;
  if (s.pipeline == 1 || s.microbatch_group == s.pipeline) s.microbatch_group = 0;
  if (s.pipeline == 1) s.schedule = kDefaultSchedule;
  if (s.recompute_method == RecomputeMethod::block && s.recompute_layers * s.chunks() == job.model.layers) {
    s.recompute_layers = 0;
  }
  if (s.recompute != Recompute::selective) s.recompute_modules = ModuleSet{1};
  return s;
}

void check_same_strategy(const Job& before, const Job& after) {
  const Strategy a = meant_strategy(before);
  const Strategy b = meant_strategy(after);
  for_each_strategy_field([&](const auto& field) {
    CAPTURE(std::string(field.key));
    CHECK((a.*field.member == b.*field.member));
  });
  CHECK(before.training.global_batch == after.training.global_batch);
  CHECK(before.training.sequence_length == after.training.sequence_length);
  CHECK(before.training.precision == after.training.precision);
  CHECK(before.training.optimizer == after.training.optimizer);
  CHECK(before.training.cuda_graphs == after.training.cuda_graphs);
  CHECK(before.training.fp8_parameters == after.training.fp8_parameters);
  // The files do not say every framework, whose habits decide the gradients where no option does.
  if (before.training.framework == after.training.framework) CHECK(gradient_bytes(before) == gradient_bytes(after));
  CHECK(before.model.layers == after.model.layers);
}

}  // namespace mirfak
