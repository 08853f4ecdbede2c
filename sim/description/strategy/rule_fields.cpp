#include "strategy/rule_fields.hpp"

#include "strategy/rule_field_names.hpp"
#include "strategy/strategy_fields.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace mirfak {

namespace {

using Input = const RuleInput&;

template <typename T>
double number(T value) {
  return static_cast<double>(value);
}

static_assert(
    [] {
      std::size_t at = 0;
      bool last = true;
      for_each_strategy_field([&](const auto& of) {
        using T = typename std::remove_cvref_t<decltype(of)>::Type;
        last = last && (kIsList<T> == (at++ >= kStrategyRuleFields));
      });
      return last;
    }(),
    "kStrategyRuleFields fields that are no lists stand in front of all lists");

// True if all chunks have the same number of layers.
bool chunks_alike(const Strategy& s) { return s.layer_split.empty() && s.counted_as_layers() == 0; }

double layers_to_recompute(Input in) {
  const Strategy& s = in.strategy;
  if (s.recompute == Recompute::none) return 0;
  std::int64_t most = 0;
  for (std::int64_t chunk = 0; chunk < (chunks_alike(s) ? 1 : parts_of(s)); ++chunk) {
    most = std::max(most, layers_of_chunk(s, in.model, chunk));
  }
  return number(s.recompute_layers > 0 ? std::min<std::int64_t>(s.recompute_layers, most) : most);
}

double layers_of_stage(Input in, int stage) {
  const Strategy& s = in.strategy;
  if (chunks_alike(s)) return number(layers_of_chunk(s, in.model, 0) * s.virtual_pipeline);
  const std::vector<std::vector<LayerRange>> stages = layers_of_chunks(s, in.model);
  std::int64_t layers = 0;
  for (const LayerRange& chunk : stages[static_cast<std::size_t>(stage)]) layers += chunk.count;
  return number(layers);
}

double max_layers_of_stages(Input in) {
  if (chunks_alike(in.strategy)) return layers_of_stage(in, 0);
  double most = 0;
  for (int stage = 0; stage < in.strategy.pipeline; ++stage) most = std::max(most, layers_of_stage(in, stage));
  return most;
}

template <typename T>
constexpr formula::Type kTypeOf = std::is_same_v<T, bool>        ? formula::Type::truth
                                  : std::is_same_v<T, ModuleSet> ? formula::Type::set
                                  : std::is_enum_v<T>            ? formula::Type::choice
                                                                 : formula::Type::number;

template <typename Names>
RuleFieldSet set_of(const Names& names) {
  RuleFieldSet set;
  for (const std::string_view name : names) {
    if (!name.empty()) set.set(*place_of_rule_field(name));
  }
  return set;
}

// Derived field, in the order of kDerivedRuleFieldNames.
struct Derived {
  std::string_view sentence;
  double (*value)(const RuleInput& in, int gpus_per_node);
  std::array<std::string_view, 2> sources = {};
};
constexpr std::array<Derived, kDerivedRuleFields> kDerived = {{
    {"of the cluster", [](Input in, int) { return number(in.gpus); }, {"gpus"}},
    {"of the smallest node", [](Input, int gpus_per_node) { return number(gpus_per_node); }},
    {"of a replica and iteration",
     [](Input in, int) { return number(microbatches(in.strategy, in.training)); },
     {"micro_batch", "data"}},
    {"ranks that hold the same parameters: data times context",
     [](Input in, int) { return number(in.strategy.replicas()); },
     {"data", "context"}},
    {"layers of the first stage",
     [](Input in, int) { return layers_of_stage(in, 0); },
     {"pipeline", "virtual_pipeline"}},
    {"layers of the last stage",
     [](Input in, int) { return layers_of_stage(in, in.strategy.pipeline - 1); },
     {"pipeline", "virtual_pipeline"}},
    {"layers of the stage that has most",
     [](Input in, int) { return max_layers_of_stages(in); },
     {"pipeline", "virtual_pipeline"}},
    {"of the model", [](Input in, int) { return number(in.model.layers); }},
    {"hidden size", [](Input in, int) { return number(in.model.hidden); }},
    {"attention heads", [](Input in, int) { return number(in.model.heads); }},
    {"key/value heads", [](Input in, int) { return number(in.model.kv_heads); }},
    {"size of a head", [](Input in, int) { return number(in.model.head_dim); }},
    {"inner size of the plain MLP", [](Input in, int) { return number(in.model.ffn); }},
    {"of the model", [](Input in, int) { return number(in.model.vocab); }},
    {"of a layer; 0: none", [](Input in, int) { return number(in.model.mixture.experts); }},
    {"sequences of an iteration", [](Input in, int) { return number(in.training.global_batch); }},
    {"tokens of a sequence", [](Input in, int) { return number(in.training.sequence_length); }},
}};

// The fields that must be known for each field; empty: it is known with the job.
const std::vector<RuleFieldSet>& sources_of_fields() {
  static const std::vector<RuleFieldSet> made = [] {
    std::vector<RuleFieldSet> out;
    for_each_strategy_field([&](const auto& of) {
      if (out.size() < kStrategyRuleFields) out.push_back(set_of(of.decided_by).set(out.size()));
    });
    out[static_cast<std::size_t>(rule_field("recompute_layers"))] |=
        set_of(std::array<std::string_view, 3>{"recompute", "pipeline", "virtual_pipeline"});
    for (const Derived& derived : kDerived) out.push_back(set_of(derived.sources));
    return out;
  }();
  return made;
}

template <std::size_t... indices>
void read_strategy_fields(RuleFields& fields, const Strategy& strategy, std::index_sequence<indices...> /*all*/) {
  ((fields[static_cast<RuleField>(indices)] = effective_value(std::get<indices>(kStrategyFields), strategy)), ...);
}

}  // namespace

std::span<const formula::Name> rule_fields() {
  static const std::vector<formula::Name> made = [] {
    std::vector<formula::Name> out;
    for_each_strategy_field([&](const auto& of) {
      using T = typename std::remove_cvref_t<decltype(of)>::Type;
      if (out.size() == kStrategyRuleFields) return;
      out.push_back({of.key, of.sentence, kTypeOf<T>, of.names, !std::is_same_v<T, double>});
    });
    for (std::size_t i = 0; i < kDerived.size(); ++i) {
      out.push_back({kDerivedRuleFieldNames[i], kDerived[i].sentence});
    }
    return out;
  }();
  return made;
}

formula::Condition parse_rule(const Node& node) {
  return formula::Condition::parse(
      node, {rule_fields(), "rules name the keys of a strategy, and sizes of the model and the job", "tensor <= 8",
             "tensor <= 8 or recompute == 'full'", " for a strategy of the search"});
}

RuleFieldSet sources_of(const formula::Condition& rule) {
  RuleFieldSet out;
  for (const std::uint16_t named : rule.named()) out |= sources_of_fields()[named];
  return out;
}

RuleFields read_rule_fields(const RuleInput& input, int gpus_per_node) {
  RuleFields fields;
  read_strategy_fields(fields, input.strategy, std::make_index_sequence<kStrategyRuleFields>());
  fields[rule_field("recompute_layers")] = layers_to_recompute(input);
  for (std::size_t i = 0; i < kDerived.size(); ++i) {
    fields[static_cast<RuleField>(kStrategyRuleFields + i)] = kDerived[i].value(input, gpus_per_node);
  }
  return fields;
}

}  // namespace mirfak
