#include "strategy/strategy_keys.hpp"

#include "strategy/strategy_fields.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <type_traits>
#include <utility>

namespace mirfak {

namespace {

template <std::size_t index>
constexpr const auto& kField = std::get<index>(kStrategyFields);
template <std::size_t index>
using FieldType = typename std::remove_cvref_t<decltype(kField<index>)>::Type;

std::string words_of(ModuleSet set, const std::vector<std::string>& names) {
  std::vector<std::string_view> words;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (set.test(i)) words.push_back(names[i]);
  }
  return fmt::format("[{}]", fmt::join(words, ", "));
}

// Formats stages together with stated layers: "[{layers: 20, tensor: 4, data: 2, expert: 1}, ...]".
std::string stages_text(const Strategy& strategy) {
  std::vector<std::string> stages;
  for (std::size_t i = 0; i < strategy.stages.size(); ++i) {
    const StageShape& of = strategy.stages[i];
    const std::string layers =
        i < strategy.layer_split.size() ? fmt::format("layers: {}, ", strategy.layer_split[i]) : "";
    stages.push_back(fmt::format("{{{}tensor: {}, data: {}, expert: {}}}", layers, of.tensor, of.data, of.expert));
  }
  return fmt::format("[{}]", fmt::join(stages, ", "));
}

template <std::size_t index>
std::string text_of(const Strategy& strategy) {
  using T = FieldType<index>;
  const T& value = strategy.*kField<index>.member;
  if constexpr (std::is_same_v<T, ModuleSet>) {
    return words_of(value, kField<index>.names());
  } else if constexpr (std::is_same_v<T, std::vector<StageShape>>) {
    return stages_text(strategy);
  } else if constexpr (kIsList<T>) {
    return fmt::format("[{}]", fmt::join(value, ", "));
  } else if constexpr (std::is_same_v<T, ScheduleId>) {
    return schedule_text(value);
  } else if constexpr (std::is_enum_v<T>) {
    return kField<index>.names()[static_cast<std::size_t>(value)];
  } else if constexpr (kField<index>.effective != nullptr) {
    return fmt::format("{}", kField<index>.effective(strategy));
  } else {
    return fmt::format("{}", value);
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
          field.default_text.empty() ? text_of<index>(Strategy()) : std::string(field.default_text),
          text_of<index>,
          left_out<index>,
          means_something<index>,
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
