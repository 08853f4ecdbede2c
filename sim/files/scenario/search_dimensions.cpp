#include "scenario/search_dimensions.hpp"

#include "base/field_table.hpp"
#include "scenario/strategy_section.hpp"
#include "strategy/strategy_fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <type_traits>
#include <utility>

namespace mirfak {

namespace {

constexpr int kMaxValues = 10'000;
constexpr std::string_view kRange = "..";
constexpr std::size_t kShortestRange = 4;  // fewer consecutive numbers are written one by one

template <typename T>
double read_dimension(const Node& item, const SearchDimension& of) {
  if constexpr (std::is_same_v<T, ScheduleId>) {
    return static_cast<double>(read_schedule(item));  // a schedule may also be the path of a file
  } else {
    return static_cast<double>(
        read_in<T>(item, {static_cast<double>(of.least), static_cast<double>(of.most), of.names}));
  }
}

template <typename T>
Value dimension_value(double value, const SearchDimension& of) {
  if constexpr (std::is_same_v<T, ScheduleId>) {
    return word_value(schedule_text(static_cast<ScheduleId>(value)));
  } else {
    return value_in(static_cast<T>(value), {0, 0, of.names});
  }
}

template <std::size_t index>
SearchDimension dimension_of() {
  constexpr const auto& list = std::get<index>(kSearchLists);
  constexpr auto values_of = list.values;
  constexpr auto member = list.member;
  using T = typename std::remove_cvref_t<decltype(list)>::Type;
  const auto values = [](const StrategySpace& space) {
    std::vector<double> out;
    for (const auto value : space.*values_of) out.push_back(static_cast<double>(value));
    return out;
  };
  const auto assign = [](StrategySpace& space, const std::vector<double>& numbers) {
    auto& out = space.*values_of;
    out.clear();
    for (const double number : numbers) out.push_back(static_cast<T>(number));
  };
  const auto of = [](const Strategy& strategy) { return static_cast<double>(strategy.*member); };
  const auto set = [](Strategy& strategy, double number) { strategy.*member = static_cast<T>(number); };
  SearchDimension out{{},
                      std::is_same_v<T, int>,
                      0,
                      list.maximum,
                      list.zero,
                      nullptr,
                      read_dimension<T>,
                      dimension_value<T>,
                      values,
                      assign,
                      of,
                      set};
  for_each_strategy_field([&](const auto& field) {
    if constexpr (std::is_same_v<typename std::remove_cvref_t<decltype(field)>::Type, T>) {
      if (field.member != member) return;
      out.key = field.key;
      out.names = field.names;
      if (list.zero.empty()) out.least = static_cast<int>(field.minimum);
      if (list.maximum == 0) out.most = static_cast<int>(field.maximum);
    }
  });
  return out;
}

template <std::size_t... indices>
std::vector<SearchDimension> make_dimensions(std::index_sequence<indices...> /*all*/) {
  return {dimension_of<indices>()...};
}

std::optional<int> whole_number(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

template <typename Number>
void add_range(const Node& item, std::size_t dots, int least, int most, std::vector<Number>& out) {
  const std::string& text = item.value().scalar;
  const auto first = whole_number(std::string_view(text).substr(0, dots));
  const auto last = whole_number(std::string_view(text).substr(dots + kRange.size()));
  if (!first || !last || *first > *last) item.fail("expected a range such as 1..8, found " + item.described());
  if (*first < least || *last > most) {
    item.fail(fmt::format("expected a range from {} to {} at most, found {}", least, most, item.described()));
  }
  if (*last - *first >= kMaxValues) item.fail(fmt::format("a range of more than {} numbers", kMaxValues));
  for (int number = *first; number <= *last; ++number) out.push_back(number);
}

template <typename Number>
void add_number(const Node& item, int least, int most, std::vector<Number>& out) {
  const std::size_t dots = item.is_scalar() ? item.value().scalar.find(kRange) : std::string::npos;
  if (dots != std::string::npos) {
    add_range(item, dots, least, most, out);
  } else {
    out.push_back(static_cast<Number>(item.as_integer(least, most)));
  }
}

void add_values(const Node& item, const SearchDimension& dimension, std::vector<double>& out) {
  if (!dimension.is_number) return out.push_back(dimension.read(item, dimension));
  if (dimension.zero.empty()) return add_number(item, dimension.least, dimension.most, out);
  if (item.is_scalar() && item.value().scalar == dimension.zero) return out.push_back(0);
  const bool number = item.is_scalar() && !item.value().scalar.empty() && item.value().scalar[0] >= '0' &&
                      item.value().scalar[0] <= '9';
  if (!number) item.fail(fmt::format("expected {} or a whole number, found {}", dimension.zero, item.described()));
  add_number(item, 1, dimension.most, out);
}

template <typename Number, typename Add>
std::vector<Number> read_list(const Node& node, const Add& add) {
  std::vector<Number> out;
  if (!node.is_sequence()) {
    add(node, out);
    return out;
  }
  for (const Node& item : node.as_items()) {
    const std::size_t before = out.size();
    add(item, out);
    for (std::size_t i = before; i < out.size(); ++i) {
      const auto known = std::find(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(i), out[i]);
      if (known - out.begin() < static_cast<std::ptrdiff_t>(i)) item.fail("this value is already in the list");
    }
  }
  if (out.empty()) node.fail("expected at least one value, found an empty list");
  return out;
}

}  // namespace

std::span<const SearchDimension> search_dimensions() {
  static const std::vector<SearchDimension> dimensions =
      make_dimensions(std::make_index_sequence<std::tuple_size_v<decltype(kSearchLists)>>());
  return dimensions;
}

std::vector<double> read_values(const Node& node, const SearchDimension& dimension) {
  return read_list<double>(node, [&](const Node& item, std::vector<double>& out) { add_values(item, dimension, out); });
}

std::vector<int> read_numbers(const Node& node, int least, int most) {
  return read_list<int>(node, [&](const Node& item, std::vector<int>& out) { add_number(item, least, most, out); });
}

Value values_list(const std::vector<double>& values, const SearchDimension& dimension) {
  Value out = list_value();
  for (std::size_t first = 0; first < values.size();) {
    std::size_t end = first + 1;
    const bool number = dimension.is_number && (values[first] > 0 || dimension.zero.empty());
    while (number && end < values.size() && values[end] == values[end - 1] + 1) ++end;
    if (end - first >= kShortestRange) {
      out.items.push_back(word_value(fmt::format("{}{}{}", values[first], kRange, values[end - 1])));
      first = end;
    }
    for (; first < end; ++first) {
      const bool zero = values[first] == 0 && !dimension.zero.empty();
      out.items.push_back(zero ? word_value(std::string(dimension.zero)) : dimension.value(values[first], dimension));
    }
  }
  return out;
}

Value numbers_list(const std::vector<int>& numbers) {
  return values_list({numbers.begin(), numbers.end()}, search_dimensions().front());
}

}  // namespace mirfak
