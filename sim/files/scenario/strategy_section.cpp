#include "scenario/strategy_section.hpp"

#include "base/field_table.hpp"
#include "base/named_files.hpp"
#include "scenario/stage_shapes.hpp"
#include "schedule/schedule_file.hpp"
#include "strategy/strategy_fields.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <set>
#include <string_view>
#include <type_traits>

namespace mirfak {

namespace {

template <typename T>
T read_value(const Node& node, const StrategyField<T>& field) {
  if constexpr (std::is_same_v<T, ScheduleId>) {
    return read_schedule(node);
  } else if constexpr (std::is_same_v<T, ModuleSet>) {
    T set;
    for (const Node& item : node.as_items()) set.set(item.as_choice(field.names()));
    return set;
  } else {
    T value = read_in<T>(node, {field.minimum, field.maximum, field.names});
    if constexpr (kIsList<T>) {
      if (value.empty()) node.fail("expected at least one number, found an empty list", "leave it out for its default");
    }
    return value;
  }
}

}  // namespace

ScheduleId read_schedule(const Node& node) {
  if (!node.is_scalar() || !is_schedule_path(node.as_string())) {
    return static_cast<ScheduleId>(node.as_choice(schedule_names()));
  }
  refuse_named_file(node);
  const std::string& stated = node.as_string();
  const Location& where = node.where();
  const std::filesystem::path path = stated;
  const bool beside_file = path.is_relative() && where.line > 0;
  const std::filesystem::path file = beside_file ? std::filesystem::path(where.file).parent_path() / path : path;
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) {
    node.fail(fmt::format("there is no schedule file '{}'", file.string()),
              beside_file ? "a relative path counts from the folder of the file that states it" : "");
  }
  return read_schedule_file(file, stated);
}

namespace {

// True if the value is the word of a default ("tensor", "pipeline", "even"), which may be written too.
template <typename T>
bool says_default(const Node& node, const StrategyField<T>& field) {
  return node.is_scalar() && !field.default_text.empty() && node.value().scalar == field.default_text;
}

// `cluster`, `model`: null if they are not known.
Strategy read_all(const Node& node, int gpus, const Cluster* cluster, const ModelSpec* model) {
  Mapping section(node);
  Strategy strategy;
  std::optional<Node> stages;
  std::set<std::string_view> stated;
  for_each_strategy_field([&](const auto& field) {
    const std::optional<Node> found = field.may_be_null ? section.find_or_null(field.key) : section.find(field.key);
    if (!found || says_default(*found, field)) return;
    stated.insert(field.key);
    using T = typename std::remove_cvref_t<decltype(field)>::Type;
    if constexpr (std::is_same_v<T, std::vector<StageShape>>) {
      stages = found;
    } else {
      strategy.*field.member = read_value(*found, field);
    }
  });
  if (stages)
    read_stages(*stages, {stated.contains("data"), stated.contains("expert_tensor"), cluster, model}, strategy);
  for_each_strategy_field([&](const auto& field) {
    const bool of_stages = stages && (field.key == "data" || field.key == "expert_tensor");
    if (field.completion != nullptr && !stated.contains(field.key) && !of_stages) {
      strategy.*field.member = field.completion(strategy, gpus);
    }
  });
  section.finish();
  return strategy;
}

}  // namespace

Strategy read_strategy(const Node& node, int gpus) { return read_all(node, gpus, nullptr, nullptr); }

Strategy read_strategy(const Node& node, const Cluster& cluster, const ModelSpec& model) {
  return read_all(node, cluster.gpus(), &cluster, &model);
}

}  // namespace mirfak
