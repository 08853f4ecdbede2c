#include "strategy/rule_fields.hpp"

#include "strategy/strategy_names.hpp"

#include <algorithm>
#include <initializer_list>

namespace mirfak {

namespace {

using Input = const RuleInput&;

template <typename T>
double number(T value) {
  return static_cast<double>(value);
}

double group_of_microbatches(Input in, int /*gpus_per_node*/) {
  return in.strategy.microbatch_group > 0 ? in.strategy.microbatch_group : in.strategy.pipeline;
}

double group_of_shards(Input in, int /*gpus_per_node*/) {
  return in.strategy.zero_group > 0 ? in.strategy.zero_group : in.strategy.replicas();
}

double modules(Input in, int /*gpus_per_node*/) {
  return in.strategy.recompute == Recompute::selective ? number(in.strategy.recompute_modules.to_ulong()) : 0;
}

double recomputed_layers(Input in, int /*gpus_per_node*/) {
  const Strategy& s = in.strategy;
  if (s.recompute == Recompute::none) return 0;
  const std::int64_t chunks = std::int64_t{s.pipeline} * s.virtual_pipeline;
  const std::int64_t most =
      s.layer_split.empty() ? in.model.layers / chunks : *std::max_element(s.layer_split.begin(), s.layer_split.end());
  return number(s.recompute_layers > 0 ? std::min<std::int64_t>(s.recompute_layers, most) : most);
}

double layers_of_stage(Input in, int stage) {
  const Strategy& s = in.strategy;
  if (s.layer_split.empty()) {
    const std::int64_t chunks = std::int64_t{s.pipeline} * s.virtual_pipeline;
    return number(in.model.layers / chunks * s.virtual_pipeline);
  }
  double layers = 0;
  for (std::size_t i = static_cast<std::size_t>(stage); i < s.layer_split.size();
       i += static_cast<std::size_t>(s.pipeline)) {
    layers += s.layer_split[i];
  }
  return layers;
}

double most_layers_of_stages(Input in, int /*gpus_per_node*/) {
  if (in.strategy.layer_split.empty()) return layers_of_stage(in, 0);
  double most = 0;
  for (int stage = 0; stage < in.strategy.pipeline; ++stage) most = std::max(most, layers_of_stage(in, stage));
  return most;
}

RuleFieldSet set_of(std::initializer_list<RuleField> fields) {
  RuleFieldSet set;
  for (const RuleField field : fields) set.set(static_cast<std::size_t>(field));
  return set;
}

using F = RuleField;

// In the order of the enumeration.
std::vector<RuleFieldInfo> make_table() {
  const auto whole = [](F field, std::string_view name, std::string_view sentence, auto value) {
    return RuleFieldInfo{name, sentence, RuleType::number, nullptr, value, set_of({field})};
  };
  const auto truth = [](F field, std::string_view name, std::string_view sentence, auto value) {
    return RuleFieldInfo{name, sentence, RuleType::truth, nullptr, value, set_of({field})};
  };
  const auto choice = [](F field, std::string_view name, std::string_view sentence, auto names, auto value) {
    return RuleFieldInfo{name, sentence, RuleType::choice, names, value, set_of({field})};
  };
  const auto derived = [](std::string_view name, std::string_view sentence, auto value, RuleFieldSet sources) {
    return RuleFieldInfo{name, sentence, RuleType::number, nullptr, value, sources};
  };
  const RuleFieldSet split = set_of({F::pipeline, F::virtual_pipeline});
  return {
      whole(F::tensor, "tensor", "tensor-parallel size", [](Input in, int) { return number(in.strategy.tensor); }),
      whole(F::context, "context", "context-parallel size", [](Input in, int) { return number(in.strategy.context); }),
      whole(F::pipeline, "pipeline", "pipeline stages", [](Input in, int) { return number(in.strategy.pipeline); }),
      whole(F::virtual_pipeline, "virtual_pipeline", "chunks of each stage",
            [](Input in, int) { return number(in.strategy.virtual_pipeline); }),
      whole(F::data, "data", "data-parallel replicas", [](Input in, int) { return number(in.strategy.data); }),
      whole(F::expert, "expert", "expert-parallel size", [](Input in, int) { return number(in.strategy.expert); }),
      derived(
          "expert_tensor", "ranks that divide each expert",
          [](Input in, int) { return number(in.strategy.tensor_of_experts()); }, set_of({F::expert_tensor, F::tensor})),
      whole(F::micro_batch, "micro_batch", "sequences of a microbatch",
            [](Input in, int) { return number(in.strategy.micro_batch); }),
      derived("microbatch_group", "interleaving: microbatches of one chunk before the next", group_of_microbatches,
              set_of({F::microbatch_group, F::pipeline})),
      choice(F::schedule, "schedule", "the order of passes", schedule_kind_names,
             [](Input in, int) { return number(in.strategy.schedule); }),
      choice(F::context_communication, "context_communication", "how context-parallel ranks get at keys and values",
             context_communication_names, [](Input in, int) { return number(in.strategy.context_communication); }),
      choice(F::expert_dispatcher, "expert_dispatcher", "how rows of tokens get to their experts",
             expert_dispatcher_names, [](Input in, int) { return number(in.strategy.expert_dispatcher); }),
      truth(F::overlap_expert, "overlap_expert", "rows are exchanged beside the passes of other microbatches",
            [](Input in, int) { return number(in.strategy.overlap_expert); }),
      truth(F::sequence_parallel, "sequence_parallel", "tokens are divided over tensor ranks",
            [](Input in, int) { return number(in.strategy.sequence_parallel); }),
      choice(F::recompute, "recompute", "what backward passes compute again", recompute_names,
             [](Input in, int) { return number(in.strategy.recompute); }),
      {"recompute_modules", "modules that selective recomputation drops", RuleType::modules, module_names, modules,
       set_of({F::recompute_modules, F::recompute})},
      choice(F::recompute_method, "recompute_method", "which layers of a chunk are recomputed", recompute_method_names,
             [](Input in, int) { return number(in.strategy.recompute_method); }),
      derived("recompute_layers", "layers of a chunk, or of a group, that are recomputed", recomputed_layers,
              set_of({F::recompute_layers, F::recompute, F::pipeline, F::virtual_pipeline})),
      whole(F::offload_layers, "offload_layers", "layers whose activations wait in the host's memory",
            [](Input in, int) { return number(in.strategy.offload_layers); }),
      {"offload_optimizer", "share of the optimizer that is on the host", RuleType::number, nullptr,
       [](Input in, int) { return in.strategy.offload_optimizer; }, set_of({F::offload_optimizer}), false},
      whole(F::zero, "zero", "ZeRO stage", [](Input in, int) { return number(in.strategy.zero); }),
      derived("zero_group", "ranks that share one sharded copy", group_of_shards,
              set_of({F::zero_group, F::data, F::context})),
      truth(F::overlap_grad_reduce, "overlap_grad_reduce", "gradients are reduced beside backward passes",
            [](Input in, int) { return number(in.strategy.overlap_grad_reduce); }),
      truth(F::overlap_param_gather, "overlap_param_gather", "parameters are gathered beside forward passes",
            [](Input in, int) { return number(in.strategy.overlap_param_gather); }),
      truth(F::overlap_tensor, "overlap_tensor", "products run in pieces beside their collectives",
            [](Input in, int) { return number(in.strategy.overlap_tensor); }),
      derived(
          "gpus", "of the cluster", [](Input in, int) { return number(in.gpus); }, set_of({F::gpus})),
      derived("gpus_per_node", "of the smallest node", [](Input, int gpus_per_node) { return number(gpus_per_node); },
              {}),
      derived(
          "microbatches", "of a replica and iteration",
          [](Input in, int) { return number(microbatches(in.strategy, in.training)); },
          set_of({F::micro_batch, F::data})),
      derived(
          "replicas", "ranks that hold the same parameters: data times context",
          [](Input in, int) { return number(in.strategy.replicas()); }, set_of({F::data, F::context})),
      derived(
          "first_stage_layers", "layers of the first stage", [](Input in, int) { return layers_of_stage(in, 0); },
          split),
      derived(
          "last_stage_layers", "layers of the last stage",
          [](Input in, int) { return layers_of_stage(in, in.strategy.pipeline - 1); }, split),
      derived("most_stage_layers", "layers of the stage that has most", most_layers_of_stages, split),
      derived("layers", "of the model", [](Input in, int) { return number(in.model.layers); }, {}),
      derived("hidden", "hidden size", [](Input in, int) { return number(in.model.hidden); }, {}),
      derived("heads", "attention heads", [](Input in, int) { return number(in.model.heads); }, {}),
      derived("kv_heads", "key/value heads", [](Input in, int) { return number(in.model.kv_heads); }, {}),
      derived("head_dim", "size of a head", [](Input in, int) { return number(in.model.head_dim); }, {}),
      derived("ffn", "inner size of the plain MLP", [](Input in, int) { return number(in.model.ffn); }, {}),
      derived("vocab", "of the model", [](Input in, int) { return number(in.model.vocab); }, {}),
      derived("experts", "of a layer; 0: none", [](Input in, int) { return number(in.model.mixture.experts); }, {}),
      derived("global_batch", "sequences of an iteration",
              [](Input in, int) { return number(in.training.global_batch); }, {}),
      derived("sequence_length", "tokens of a sequence",
              [](Input in, int) { return number(in.training.sequence_length); }, {}),
  };
}

}  // namespace

std::span<const RuleFieldInfo> rule_fields() {
  static const std::vector<RuleFieldInfo> table = make_table();
  return table;
}

const RuleFieldInfo& info_of(RuleField field) { return rule_fields()[static_cast<std::size_t>(field)]; }

RuleFields read_rule_fields(const RuleInput& input, int gpus_per_node) {
  RuleFields fields;
  update_rule_fields(fields, RuleFieldSet().set(), input, gpus_per_node);
  return fields;
}

void update_rule_fields(RuleFields& fields, const RuleFieldSet& which, const RuleInput& input, int gpus_per_node) {
  const std::span<const RuleFieldInfo> table = rule_fields();
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (which.test(i)) fields[static_cast<RuleField>(i)] = table[i].value(input, gpus_per_node);
  }
}

}  // namespace mirfak
