#include "scenario/search_section.hpp"

#include "base/error.hpp"
#include "base/field_table.hpp"
#include "base/units.hpp"
#include "base/yaml.hpp"
#include "program/replica_classes.hpp"
#include "scenario/job_check.hpp"
#include "scenario/search_dimensions.hpp"
#include "scenario/strategy_section.hpp"
#include "strategy/stage_rules.hpp"
#include "strategy/strategy_keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <string_view>

namespace mirfak {

namespace {

constexpr int kMaxResults = 1000;
constexpr int kMaxNodes = 1 << 20;
constexpr int kMaxUnevenLayers = 1000;
constexpr double kMaxDays = 1e6;
constexpr double kMaxUsd = 1e15;
constexpr double kMaxWatts = 1e12;
constexpr double kMaxFitProbability = 0.999;

// Returns the powers of two up to the largest number of nodes of a type, and that number.
std::vector<int> usual_counts(const Cluster& cluster) {
  int most = 0;
  for (const NodeGroup& group : cluster.groups()) most = std::max(most, group.count);
  std::vector<int> out;
  for (int count = 1; count < most; count *= 2) out.push_back(count);
  out.push_back(most);
  return out;
}

const std::vector<std::string>& nodes_names() {
  static const std::vector<std::string> names = {"all", "up-to"};
  return names;
}

Value limit_value(double limit) { return limit > 0 ? scalar_value(limit) : Value(); }

using SearchField = FieldTable<SearchSection, Job>::Field;

// Returns a limit on the whole training; null: none.
SearchField total_field(std::string_view key, double SearchSection::*member, double most) {
  const auto read = [=](const Node& node, SearchSection& search, const Job& job) {
    const double limit = search.*member = node.as_number(0, most);
    if (limit == 0) node.fail("expected more than 0", "leave it out for no limit");
    if (job.training.tokens > 0) return;
    node.fail("this is a limit of the whole training, and training.tokens does not say how long that is",
              "give training.tokens");
  };
  return SearchField(key, read, [=](const SearchSection& of) { return limit_value(of.*member); }).or_null();
}

// Returns a limit of the power over time; null: none.
SearchField power_limit_field(const PowerLimitKey& limit) {
  const auto read = [of = limit.of](const Node& node, SearchSection& search, const Job&) {
    const double most = search.spec.power_limits.*of = node.as_number(0, kMaxWatts);
    if (most == 0) node.fail("expected more than 0", "leave it out for no limit");
  };
  const auto write = [of = limit.of](const SearchSection& search) { return limit_value(search.spec.power_limits.*of); };
  return SearchField(limit.key, read, write).or_null();
}

const std::vector<std::string>& stages_names() {
  static const std::vector<std::string> names = {"alike", "by-type"};
  return names;
}

void read_space(const Node& node, StrategySpace& space) {
  Mapping keys(node);
  for (const SearchDimension& dimension : search_dimensions()) {
    if (const auto values = keys.find(dimension.key)) dimension.assign(space, read_values(*values, dimension));
  }
  if (const auto stages = keys.find("stages")) {
    space.stages = static_cast<StageShapes>(stages->as_choice(stages_names()));
  }
  space.tensor_across_domains = keys.bool_or("tensor_across_domains", space.tensor_across_domains);
  space.uneven_layers = static_cast<int>(keys.integer_or("uneven_layers", space.uneven_layers, 0, kMaxUnevenLayers));
  space.uneven_end_chunks =
      static_cast<int>(keys.integer_or("uneven_end_chunks", space.uneven_end_chunks, 0, kMaxUnevenLayers));
  keys.finish();
}

// Dimensions of a space that strategy.stages decides.
constexpr std::array kOfStages = {std::string_view("tensor"), std::string_view("context"), std::string_view("expert"),
                                  std::string_view("pipeline")};
bool decided_by_stages(std::string_view key) {
  return std::find(kOfStages.begin(), kOfStages.end(), key) != kOfStages.end();
}

Value space_value(const StrategySpace& space) {
  Value out = mapping_value();
  const auto add = [&](std::string_view key, Value value) {
    out.fields.push_back({std::string(key), std::move(value)});
  };
  for (const SearchDimension& dimension : search_dimensions()) {
    if (space.stages == StageShapes::fixed && decided_by_stages(dimension.key)) continue;
    add(dimension.key, values_list(dimension.values(space), dimension));
    if (dimension.key == "tensor") add("tensor_across_domains", scalar_value(space.tensor_across_domains));
    if (dimension.key == "pipeline") add("stages", word_value(stages_names()[static_cast<std::size_t>(space.stages)]));
  }
  add("uneven_layers", scalar_value(space.uneven_layers));
  add("uneven_end_chunks", scalar_value(space.uneven_end_chunks));
  return out;
}

const FieldTable<SearchSection, Job>& search_fields() {
  using S = SearchSection;
  using F = SearchField;
  static const FieldTable<S, Job> table = {
      F("objective", [](auto& of) -> auto& { return of.spec.objective; }, {0, 0, search_objective_names}),
      F("top", [](auto& of) -> auto& { return of.spec.top; }, {1, kMaxResults}),
      F("nodes", [](auto& of) -> auto& { return of.spec.any_count; }, {0, 0, nodes_names}),
      F(
          "node_counts",
          [](const Node& node, S& of, const Job&) {
            if (!of.spec.any_count) node.fail("node_counts needs nodes: up-to", "set search.nodes: up-to");
            of.spec.node_counts = read_numbers(node, 1, kMaxNodes);
          },
          [](const S& of) { return numbers_list(of.spec.node_counts); })
          .if_set([](const S& of) { return of.spec.any_count; }),
      F("mixed", [](auto& of) -> auto& { return of.spec.mixed; }, {}),
      F(
          "rules",
          [](const Node& node, S& of, const Job&) {
            for (const Node& rule : node.as_items()) of.spec.rules.push_back(parse_rule(rule));
          },
          [](const S& of) {
            Value rules = list_value();
            for (const formula::Condition& rule : of.spec.rules) rules.items.push_back(quoted_value(rule.text()));
            return rules;
          }),
      F("robust", [](auto& of) -> auto& { return of.robust; }, {}).if_set(),
      F(
          "free", [](const Node& node, S& of, const Job&) { read_free(node, of.freed); },
          [](const S&) { return Value(); })
          .if_set([](const S&) { return false; }),
      F(
          "keep", [](const Node& node, S& of, const Job&) { read_keep(node, of.freed); },
          [](const S&) { return Value(); })
          .if_set([](const S&) { return false; }),
      total_field("deadline_days", &S::deadline_days, kMaxDays),
      total_field("budget_usd", &S::budget_usd, kMaxUsd),
      F(
          "power_cap_w",
          [](const Node& node, S& of, const Job&) {
            of.spec.power_cap_w = node.as_number(0, kMaxWatts);
            if (of.spec.power_cap_w == 0) node.fail("expected more than 0", "leave it out for no limit");
          },
          [](const S& of) { return limit_value(of.spec.power_cap_w); })
          .or_null(),
      power_limit_field(kPowerLimitKeys[0]),
      power_limit_field(kPowerLimitKeys[1]),
      power_limit_field(kPowerLimitKeys[2]),
      F(
          "headroom",
          [](const Node& node, S& of, const Job&) {
            of.spec.headroom = node.as_number(0, 1);
            if (of.spec.headroom == 1) node.fail("expected less than 1", "0.05 keeps 5 % of every memory free");
          },
          [](const S& of) { return scalar_value(of.spec.headroom); }),
      F(
          "fit_probability",
          [](const Node& node, S& of, const Job&) { of.spec.fit_probability = node.as_number(0, kMaxFitProbability); },
          [](const S& of) { return scalar_value(of.spec.fit_probability); }),
      F("tolerance", [](auto& of) -> auto& { return of.spec.tolerance; }, {0, 1}),
      F(
          "space", [](const Node& node, S& of, const Job&) { read_space(node, of.spec.space); },
          [](const S& of) { return space_value(of.spec.space); })
          .or_null(),
  };
  return table;
}

// True if the scenario itself states this dimension of the space.
bool states(const std::optional<Node>& section, std::string_view key) {
  const Value* space = section && section->is_mapping() ? section->value().find("space") : nullptr;
  return space != nullptr && space->kind == Value::Kind::mapping && space->find(key) != nullptr;
}

// Experts are either whole or divided like the rest of the model, for any tensor-parallel size.
int fixed_expert_tensor(const Node& place, const Strategy& strategy, bool tensor_fixed) {
  if (place.is_scalar() && place.value().scalar == "tensor") return 0;
  if (strategy.expert_tensor == 1) return 1;
  if (tensor_fixed && strategy.expert_tensor == strategy.tensor) return 0;
  place.fail(fmt::format("a search divides each expert over 1 rank or over strategy.tensor ranks, not over {}",
                         strategy.expert_tensor),
             "fix strategy.tensor too, or give search.space.expert_tensor: [tensor]");
}

void fix(const SearchDimension& dimension, const Node& place, double value, bool stated, StrategySpace& space) {
  const std::vector<double> values = dimension.values(space);
  if (stated && std::find(values.begin(), values.end(), value) == values.end()) {
    place.fail(fmt::format("{} is fixed to a value that is not in search.space.{}, {}", dimension.key, dimension.key,
                           line_of(values_list(values, dimension))),
               "leave one of the two out");
  }
  dimension.assign(space, {value});
}

formula::Condition rule_of(const std::string& text) {
  const Document document = Document::from_text(quoted_yaml(text), "strategy");
  return parse_rule(Node(document));
}

}  // namespace

SearchSection read_search(const std::optional<Node>& section, const Job& job) {
  SearchSection search;
  SearchSpec& spec = search.spec;
  spec.space = default_space(job.model, job.training, job.framework);
  if (!can_offload_optimizer(job.cluster)) spec.space.offload_optimizer = {0};
  const bool states_headroom = section && section->is_mapping() && section->value().find("headroom") != nullptr;
  spec.fit_probability = states_headroom || !job.ranges.memory.device.known() ? 0 : kDefaultFitProbability;
  if (!section) return search;
  search = search_fields().read(*section, std::move(search), job);
  if (!job.ranges.memory.device.known()) spec.fit_probability = 0;  // nothing to tell it by: the headroom stands
  if (spec.any_count && spec.node_counts.empty()) spec.node_counts = usual_counts(job.cluster);
  const TrainingSpec& training = job.training;
  const double tokens = training.tokens_of(training.global_batch);
  const double share = training.tokens > 0 ? tokens / training.tokens : 0;  // share of one iteration in the training
  spec.deadline_s = search.deadline_days * kSecondsPerDay * share;
  spec.budget_usd = search.budget_usd * share;
  return search;
}

Value search_value(const SearchSection& search) { return search_fields().value(search); }

namespace {

// Checks stages of their own shape for a micro-batch that fits all of them; the search chooses the micro-batch later.
void check_stages(const Node& strategy, const Node& stages, const Job& job, const Strategy& stated) {
  Job shaped = job;
  shaped.strategy = stated;
  shaped.strategy.micro_batch = 1;
  for (const StageShape& stage : stated.stages) {
    shaped.strategy.micro_batch = std::lcm(shaped.strategy.micro_batch, stage.data);
  }
  const auto broken =
      stages_are_shaped({shaped.model, shaped.training, shaped.framework, shaped.strategy, shaped.cluster.gpus()});
  if (broken) {
    const bool own = broken->key.starts_with("strategy.stages");
    (own ? stages : strategy).fail_infeasible(fmt::format("{}: {}", broken->key, broken->message), broken->hint);
  }
  const std::vector<int>& layers = stated.layer_split;
  const std::int64_t sum = std::accumulate(layers.begin(), layers.end(), std::int64_t{0});
  if (!layers.empty() && sum != job.model.layers) {
    stages.fail_infeasible(fmt::format("the stages have {} layers in all, but the model has {}", sum, job.model.layers),
                           "leave them out, so that the search divides the layers");
  }
  try {
    replica_classes(shaped);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::infeasible) throw;
    stages.fail_infeasible(error.message(), error.hint());
  }
}

// Fixes stages of their own shape: the rest of the strategy is searched.
void fix_stages(const Node& strategy, const std::optional<Node>& section, const Job& job, SearchSection& search) {
  Mapping keys(strategy);
  const Node stages = keys.require("stages");
  const auto refuse = [&](std::string_view key, const char* hint) {
    stages.fail(fmt::format("{} cannot stand together with strategy.stages, which says the sizes of every stage", key),
                hint);
  };
  for (const std::string_view key : kOfStages) {
    if (states(section, key)) refuse(fmt::format("search.space.{}", key), "leave one of the two out");
  }
  if (states(section, "stages")) refuse("search.space.stages", "leave one of the two out");
  if (search.spec.any_count) refuse("search.nodes: up-to", "set search.nodes: all");
  check_stages(strategy, stages, job, search.spec.space.others);
  search.spec.space.stages = StageShapes::fixed;
}

}  // namespace

void fix_strategy(const Node& strategy, const std::optional<Node>& section, const Job& job, SearchSection& search) {
  Mapping keys(strategy);
  for (const StrategyKey& key : strategy_keys()) {
    if (key.chosen.message.empty() || !keys.has(key.key) || key.key == "stages") continue;
    keys.require(key.key).fail(std::string(key.chosen.message), std::string(key.chosen.hint));
  }
  const Strategy stated = read_strategy(strategy, job.cluster, job.model);
  StrategySpace& space = search.spec.space;
  space.others = stated;
  // Completes strategy.schedule.
  if (stated.overlap_expert && !states(section, "schedule")) {
    std::ranges::replace(space.schedule, schedule_of_chunks(false), schedule_of_chunks(true));
  }
  const bool shaped = !stated.stages.empty();
  if (shaped) fix_stages(strategy, section, job, search);
  for (const SearchDimension& dimension : search_dimensions()) {
    const auto place = keys.find(dimension.key);
    if (!place || (shaped && decided_by_stages(dimension.key))) continue;
    const bool of_experts = dimension.key == "expert_tensor";
    const double value = of_experts ? fixed_expert_tensor(*place, stated, keys.has("tensor")) : dimension.of(stated);
    fix(dimension, *place, value, states(section, dimension.key), space);
  }
  if (keys.has("data") && !shaped) search.spec.rules.push_back(rule_of(fmt::format("data == {}", stated.data)));
}

}  // namespace mirfak
