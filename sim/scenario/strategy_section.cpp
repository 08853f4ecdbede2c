#include "scenario/strategy_section.hpp"

#include "schedule/schedule.hpp"
#include "strategy/strategy_names.hpp"

#include <algorithm>
#include <optional>

namespace mirfak {

namespace {

constexpr std::int64_t kMaxRanks = std::int64_t{1} << 20;
constexpr std::int64_t kMaxBatch = std::int64_t{1} << 30;

int integer_or(Mapping& section, std::string_view key, int fallback, int maximum = static_cast<int>(kMaxRanks)) {
  return static_cast<int>(section.integer_or(key, fallback, 1, maximum));
}

Recompute read_recompute(Mapping& section) {
  const std::optional<Node> found = section.find("recompute");
  return found ? static_cast<Recompute>(found->as_choice(recompute_names())) : Recompute::none;
}

RecomputeMethod read_recompute_method(Mapping& section) {
  const std::optional<Node> found = section.find("recompute_method");
  return found ? static_cast<RecomputeMethod>(found->as_choice(recompute_method_names())) : RecomputeMethod::block;
}

// Megatron Core's --recompute-modules; the attention core where the list is left out.
ModuleSet read_recompute_modules(Mapping& section) {
  const std::optional<Node> found = section.find("recompute_modules");
  if (!found) return Strategy{}.recompute_modules;
  ModuleSet modules;
  for (const Node& item : found->as_items()) modules.set(item.as_choice(module_names()));
  return modules;
}

ContextCommunication read_context_communication(Mapping& section) {
  const std::optional<Node> found = section.find("context_communication");
  return found ? static_cast<ContextCommunication>(found->as_choice(context_communication_names()))
               : ContextCommunication::p2p;
}

ExpertDispatcher read_expert_dispatcher(Mapping& section) {
  const std::optional<Node> found = section.find("expert_dispatcher");
  return found ? static_cast<ExpertDispatcher>(found->as_choice(expert_dispatcher_names()))
               : ExpertDispatcher::all_to_all;
}

ScheduleKind read_schedule(Mapping& section, ScheduleKind fallback) {
  const std::optional<Node> found = section.find("schedule");
  static const std::vector<std::string> names = schedule_names();
  return found ? schedules()[found->as_choice(names)].kind : fallback;
}

std::vector<int> read_layer_split(Mapping& section) {
  std::vector<int> layers;
  const std::optional<Node> found = section.find("layer_split");
  if (!found) return layers;
  for (const Node& item : found->as_items()) layers.push_back(static_cast<int>(item.as_integer(0, 10'000)));
  return layers;
}

std::vector<int> read_replica_microbatches(Mapping& section) {
  std::vector<int> counts;
  const std::optional<Node> found = section.find("replica_microbatches");
  if (!found) return counts;
  for (const Node& item : found->as_items()) counts.push_back(static_cast<int>(item.as_integer(1, kMaxBatch)));
  if (counts.empty()) found->fail("expected the microbatches of each data-parallel replica");
  return counts;
}

}  // namespace

Strategy read_strategy(const Node& node, int gpus) {
  Mapping section(node);
  Strategy strategy;
  strategy.tensor = integer_or(section, "tensor", 1);
  strategy.pipeline = integer_or(section, "pipeline", 1);
  strategy.virtual_pipeline = integer_or(section, "virtual_pipeline", 1, 10'000);
  strategy.context = integer_or(section, "context", 1);
  strategy.context_communication = read_context_communication(section);
  const std::int64_t model_parallel = std::int64_t{strategy.tensor} * strategy.context * strategy.pipeline;
  strategy.data = integer_or(section, "data", static_cast<int>(std::max<std::int64_t>(1, gpus / model_parallel)));
  strategy.expert = integer_or(section, "expert", 1);
  strategy.expert_tensor = integer_or(section, "expert_tensor", strategy.tensor);
  strategy.expert_dispatcher = read_expert_dispatcher(section);
  strategy.overlap_expert = section.bool_or("overlap_expert", false);
  strategy.micro_batch = integer_or(section, "micro_batch", 1, 1 << 20);
  strategy.microbatch_group = static_cast<int>(section.integer_or("microbatch_group", 0, 1, kMaxBatch));
  const bool chunks = strategy.virtual_pipeline > 1;
  strategy.schedule =
      read_schedule(section, chunks ? ScheduleKind::interleaved : ScheduleKind::one_forward_one_backward);
  strategy.sequence_parallel = section.bool_or("sequence_parallel", false);
  strategy.recompute = read_recompute(section);
  strategy.recompute_modules = read_recompute_modules(section);
  strategy.recompute_method = read_recompute_method(section);
  strategy.recompute_layers = static_cast<int>(section.integer_or("recompute_layers", 0, 1, 10'000));
  strategy.offload_layers = static_cast<int>(section.integer_or("offload_layers", 0, 1, 10'000));
  strategy.offload_optimizer = section.number_or("offload_optimizer", 0, 0, 1);
  strategy.zero = static_cast<int>(section.integer_or("zero", 0, 0, 3));
  strategy.zero_group = static_cast<int>(section.integer_or("zero_group", 0, 1, kMaxRanks));
  strategy.overlap_tensor = section.bool_or("overlap_tensor", false);
  strategy.overlap_grad_reduce = section.bool_or("overlap_grad_reduce", false);
  strategy.overlap_param_gather = section.bool_or("overlap_param_gather", false);
  strategy.layer_split = read_layer_split(section);
  strategy.replica_microbatches = read_replica_microbatches(section);
  section.finish();
  return strategy;
}

}  // namespace mirfak
