#include "strategy/strategy_keys.hpp"

#include "base/field_table.hpp"
#include "strategy/strategy_fields.hpp"

#include <type_traits>
#include <utility>

namespace mirfak {

namespace {

template <std::size_t index>
constexpr const auto& kField = std::get<index>(kStrategyFields);
template <std::size_t index>
using FieldType = typename std::remove_cvref_t<decltype(kField<index>)>::Type;

// Returns stages together with stated layers: "[{layers: 20, tensor: 4, data: 2, expert: 1}, ...]".
Value stages_value(const Strategy& strategy) {
  Value out = list_value();
  for (std::size_t i = 0; i < strategy.stages.size(); ++i) {
    const StageShape& of = strategy.stages[i];
    Value& stage = out.items.emplace_back(mapping_value());
    if (i < strategy.layer_split.size()) stage.fields.push_back({"layers", scalar_value(strategy.layer_split[i])});
    stage.fields.push_back({"tensor", scalar_value(of.tensor)});
    stage.fields.push_back({"data", scalar_value(of.data)});
    stage.fields.push_back({"expert", scalar_value(of.expert)});
  }
  return out;
}

template <std::size_t index>
Value value_of_field(const Strategy& strategy) {
  using T = FieldType<index>;
  constexpr const auto& field = kField<index>;
  const T& value = strategy.*field.member;
  if constexpr (std::is_same_v<T, ModuleSet>) {
    Value out = list_value();
    for (std::size_t i = 0; i < kModules; ++i) {
      if (value.test(i)) out.items.push_back(word_value(field.names()[i]));
    }
    return out;
  } else if constexpr (std::is_same_v<T, std::vector<StageShape>>) {
    return stages_value(strategy);
  } else if constexpr (std::is_same_v<T, ScheduleId>) {
    return word_value(schedule_text(value));
  } else if constexpr (field.effective != nullptr && std::is_arithmetic_v<T>) {
    return scalar_value(field.effective(strategy));
  } else {
    return value_in(value, {field.minimum, field.maximum, field.names});
  }
}

template <std::size_t index>
bool left_out(const Strategy& strategy) {
  return kField<index>.optional && strategy.*kField<index>.member == Strategy().*kField<index>.member;
}

template <std::size_t index>
bool means_something(const Strategy& strategy) {
  return kField<index>.means_something == nullptr || kField<index>.means_something(strategy);
}

template <std::size_t index>
StrategyKey key_of() {
  const auto& field = kField<index>;
  return {field.key,
          field.sentence,
          field.default_text.empty() ? line_of(value_of_field<index>(Strategy())) : std::string(field.default_text),
          value_of_field<index>,
          left_out<index>,
          means_something<index>,
          field.effective == nullptr && !std::is_same_v<FieldType<index>, std::vector<StageShape>>,
          field.chosen};
}

template <std::size_t... indices>
std::vector<StrategyKey> make_keys(std::index_sequence<indices...> /*all*/) {
  return {key_of<indices>()...};
}

}  // namespace

std::span<const StrategyKey> strategy_keys() {
  static const std::vector<StrategyKey> keys =
      make_keys(std::make_index_sequence<std::tuple_size_v<decltype(kStrategyFields)>>());
  return keys;
}

}  // namespace mirfak
