#include "scenario/search_section.hpp"

#include "base/error.hpp"
#include "base/units.hpp"
#include "base/yaml.hpp"
#include "program/replica_classes.hpp"
#include "scenario/job_check.hpp"
#include "scenario/search_dimensions.hpp"
#include "scenario/strategy_section.hpp"
#include "strategy/stage_rules.hpp"
#include "strategy/strategy_keys.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iterator>
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

const std::vector<std::string>& nodes_names() {
  static const std::vector<std::string> names = {"all", "up-to"};
  return names;
}

// Returns the powers of two up to the largest number of nodes of a type, and that number.
std::vector<int> usual_counts(const Cluster& cluster) {
  int most = 0;
  for (const NodeGroup& group : cluster.groups()) most = std::max(most, group.count);
  std::vector<int> out;
  for (int count = 1; count < most; count *= 2) out.push_back(count);
  out.push_back(most);
  return out;
}

void read_nodes(Mapping& section, const Cluster& cluster, SearchSpec& spec) {
  const std::optional<Node> nodes = section.find("nodes");
  spec.any_count = nodes && nodes->as_choice(nodes_names()) == 1;
  const std::optional<Node> counts = section.find("node_counts");
  if (counts && !spec.any_count) counts->fail("node_counts needs nodes: up-to", "set search.nodes: up-to");
  if (counts) spec.node_counts = read_numbers(*counts, 1, kMaxNodes);
  if (!counts && spec.any_count) spec.node_counts = usual_counts(cluster);
  spec.mixed = section.bool_or("mixed", true);
}

// Reads a limit on the whole training.
double read_total(Mapping& section, std::string_view key, double most, const TrainingSpec& training) {
  const std::optional<Node> found = section.find_or_null(key);
  if (!found) return 0;
  const double limit = found->as_number(0, most);
  if (limit == 0) found->fail("expected more than 0", "leave it out for no limit");
  if (training.tokens <= 0) {
    found->fail("this is a limit of the whole training, and training.tokens does not say how long that is",
                "give training.tokens");
  }
  return limit;
}

void read_limits(Mapping& section, const TrainingSpec& training, SearchSection& search) {
  search.deadline_days = read_total(section, "deadline_days", kMaxDays, training);
  search.budget_usd = read_total(section, "budget_usd", kMaxUsd, training);
  const double tokens = static_cast<double>(training.global_batch) * static_cast<double>(training.sequence_length);
  const double share = training.tokens > 0 ? tokens / training.tokens : 0;  // share of one iteration in the training
  search.spec.deadline_s = search.deadline_days * kSecondsPerDay * share;
  search.spec.budget_usd = search.budget_usd * share;
  const std::optional<Node> power = section.find_or_null("power_cap_w");
  search.spec.power_cap_w = power ? power->as_number(0, kMaxWatts) : 0;
  if (power && search.spec.power_cap_w == 0) power->fail("expected more than 0", "leave it out for no limit");
}

double read_headroom(Mapping& section, double otherwise) {
  const std::optional<Node> found = section.find("headroom");
  if (!found) return otherwise;
  const double headroom = found->as_number(0, 1);
  if (headroom == 1) found->fail("expected less than 1", "0.05 keeps 5 % of every memory free");
  return headroom;
}

void read_rules(Mapping& section, SearchSpec& spec) {
  const std::optional<Node> rules = section.find("rules");
  if (!rules) return;
  for (const Node& rule : rules->as_items()) spec.rules.push_back(parse_rule(rule));
}

const std::vector<std::string>& stages_names() {
  static const std::vector<std::string> names = {"alike", "by-type"};
  return names;
}

void read_space(Mapping& section, StrategySpace& space) {
  const std::optional<Node> found = section.find_or_null("space");
  if (!found) return;
  Mapping keys(*found);
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
                           values_text(values, dimension)),
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
  search.spec.space = default_space(job.model, job.training, job.framework);
  if (!can_offload_optimizer(job.cluster)) search.spec.space.offload_optimizer = {0};
  if (!section) return search;
  Mapping keys(*section);
  if (const auto objective = keys.find("objective")) {
    search.spec.objective = static_cast<SearchObjective>(objective->as_choice(search_objective_names()));
  }
  search.spec.top = static_cast<int>(keys.integer_or("top", search.spec.top, 1, kMaxResults));
  read_nodes(keys, job.cluster, search.spec);
  read_rules(keys, search.spec);
  read_limits(keys, job.training, search);
  search.spec.headroom = read_headroom(keys, search.spec.headroom);
  search.spec.tolerance = keys.number_or("tolerance", search.spec.tolerance, 0, 1);
  read_space(keys, search.spec.space);
  keys.finish();
  return search;
}

namespace {

// Dimensions of a space that strategy.stages decides.
constexpr std::array kOfStages = {std::string_view("tensor"), std::string_view("context"), std::string_view("expert"),
                                  std::string_view("pipeline")};
bool decided_by_stages(std::string_view key) {
  return std::find(kOfStages.begin(), kOfStages.end(), key) != kOfStages.end();
}

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
    stages.fail(fmt::format("{} cannot stand beside strategy.stages, which says the sizes of every stage", key), hint);
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
  const Strategy stated = read_strategy(strategy, job.cluster);
  StrategySpace& space = search.spec.space;
  space.others = stated;
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

std::string search_yaml(const SearchSection& search) {
  const SearchSpec& spec = search.spec;
  std::string out = "search:\n";
  const auto line = [&](std::string_view indent, std::string_view key, const auto& value) {
    fmt::format_to(std::back_inserter(out), "{}{}: {}\n", indent, key, value);
  };
  const auto limit = [](double value) { return value > 0 ? fmt::format("{}", value) : std::string("null"); };
  std::vector<std::string> rules;
  for (const formula::Condition& rule : spec.rules) rules.push_back(quoted_yaml(rule.text()));
  line("  ", "objective", search_objective_names()[static_cast<std::size_t>(spec.objective)]);
  line("  ", "top", spec.top);
  line("  ", "nodes", nodes_names()[spec.any_count ? 1 : 0]);
  if (spec.any_count) line("  ", "node_counts", numbers_text(spec.node_counts));
  line("  ", "mixed", spec.mixed);
  line("  ", "rules", fmt::format("[{}]", fmt::join(rules, ", ")));
  line("  ", "deadline_days", limit(search.deadline_days));
  line("  ", "budget_usd", limit(search.budget_usd));
  line("  ", "power_cap_w", limit(spec.power_cap_w));
  line("  ", "headroom", spec.headroom);
  line("  ", "tolerance", spec.tolerance);
  out += "  space:\n";
  const bool shaped = spec.space.stages == StageShapes::fixed;
  for (const SearchDimension& dimension : search_dimensions()) {
    if (shaped && decided_by_stages(dimension.key)) continue;
    line("    ", dimension.key, values_text(dimension.values(spec.space), dimension));
    if (dimension.key == "tensor") line("    ", "tensor_across_domains", spec.space.tensor_across_domains);
    if (dimension.key == "pipeline")
      line("    ", "stages", stages_names()[static_cast<std::size_t>(spec.space.stages)]);
  }
  line("    ", "uneven_layers", spec.space.uneven_layers);
  line("    ", "uneven_end_chunks", spec.space.uneven_end_chunks);
  return out;
}

}  // namespace mirfak
