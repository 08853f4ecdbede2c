#include "scenario/search_dimensions.hpp"

#include "strategy/strategy_names.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

namespace mirfak {

namespace {

constexpr int kMostRanks = 1 << 20;
constexpr int kMostLayers = 10'000;
constexpr int kMostValues = 10'000;
constexpr std::string_view kRange = "..";
constexpr std::size_t kShortestRange = 4;  // fewer numbers in a row are written one by one

using Kind = SearchDimension::Kind;

template <auto list, auto field>
constexpr SearchDimension dimension(std::string_view key, Kind kind, int least, int most, std::string_view zero = {},
                                    const std::vector<std::string>& (*names)() = nullptr) {
  const auto values = [](const StrategySpace& space) {
    std::vector<double> out;
    for (const auto value : space.*list) out.push_back(static_cast<double>(value));
    return out;
  };
  const auto assign = [](StrategySpace& space, const std::vector<double>& numbers) {
    auto& out = space.*list;
    using Held = typename std::remove_reference_t<decltype(out)>::value_type;
    out.clear();
    for (const double number : numbers) out.push_back(static_cast<Held>(number));
  };
  const auto of = [](const Strategy& strategy) { return static_cast<double>(strategy.*field); };
  return {key, kind, least, most, zero, names, values, assign, of};
}

using P = StrategySpace;
using S = Strategy;

constexpr std::array kDimensions = {
    dimension<&P::tensor, &S::tensor>("tensor", Kind::number, 1, kMostRanks),
    dimension<&P::context, &S::context>("context", Kind::number, 1, kMostRanks),
    dimension<&P::expert, &S::expert>("expert", Kind::number, 1, kMostRanks),
    dimension<&P::expert_tensor, &S::expert_tensor>("expert_tensor", Kind::number, 0, 1, "tensor"),
    dimension<&P::pipeline, &S::pipeline>("pipeline", Kind::number, 1, kMostLayers),
    dimension<&P::virtual_pipeline, &S::virtual_pipeline>("virtual_pipeline", Kind::number, 1, kMostLayers),
    dimension<&P::schedule, &S::schedule>("schedule", Kind::choice, 0, 0, {}, schedule_kind_names),
    dimension<&P::micro_batch, &S::micro_batch>("micro_batch", Kind::number, 1, kMostRanks),
    dimension<&P::sequence_parallel, &S::sequence_parallel>("sequence_parallel", Kind::truth, 0, 1),
    dimension<&P::overlap_tensor, &S::overlap_tensor>("overlap_tensor", Kind::truth, 0, 1),
    dimension<&P::recompute, &S::recompute>("recompute", Kind::choice, 0, 0, {}, recompute_names),
    dimension<&P::recompute_method, &S::recompute_method>("recompute_method", Kind::choice, 0, 0, {},
                                                          recompute_method_names),
    dimension<&P::recompute_layers, &S::recompute_layers>("recompute_layers", Kind::number, 0, kMostLayers, "all"),
    dimension<&P::zero, &S::zero>("zero", Kind::number, 0, 3),
    dimension<&P::overlap_grad_reduce, &S::overlap_grad_reduce>("overlap_grad_reduce", Kind::truth, 0, 1),
    dimension<&P::overlap_param_gather, &S::overlap_param_gather>("overlap_param_gather", Kind::truth, 0, 1),
    dimension<&P::offload_optimizer, &S::offload_optimizer>("offload_optimizer", Kind::share, 0, 1),
};

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
  if (*last - *first >= kMostValues) item.fail(fmt::format("a range of more than {} numbers", kMostValues));
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
  switch (dimension.kind) {
    case Kind::truth:
      out.push_back(item.as_bool() ? 1 : 0);
      return;
    case Kind::choice:
      out.push_back(static_cast<double>(item.as_choice(dimension.names())));
      return;
    case Kind::share:
      out.push_back(item.as_number(dimension.least, dimension.most));
      return;
    case Kind::number:
      break;
  }
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
      if (known - out.begin() < static_cast<std::ptrdiff_t>(i)) item.fail("a value that stands in the list before");
    }
  }
  if (out.empty()) node.fail("expected at least one value, found an empty list");
  return out;
}

std::string word_of(double value, const SearchDimension& dimension) {
  switch (dimension.kind) {
    case Kind::truth:
      return value != 0 ? "true" : "false";
    case Kind::choice:
      return dimension.names()[static_cast<std::size_t>(value)];
    case Kind::number:
    case Kind::share:
      break;
  }
  return value == 0 && !dimension.zero.empty() ? std::string(dimension.zero) : fmt::format("{}", value);
}

}  // namespace

std::span<const SearchDimension> search_dimensions() { return kDimensions; }

std::vector<double> read_values(const Node& node, const SearchDimension& dimension) {
  return read_list<double>(node, [&](const Node& item, std::vector<double>& out) { add_values(item, dimension, out); });
}

std::vector<int> read_numbers(const Node& node, int least, int most) {
  return read_list<int>(node, [&](const Node& item, std::vector<int>& out) { add_number(item, least, most, out); });
}

std::string values_text(const std::vector<double>& values, const SearchDimension& dimension) {
  std::vector<std::string> words;
  for (std::size_t first = 0; first < values.size();) {
    std::size_t end = first + 1;
    const bool number = dimension.kind == Kind::number && (values[first] > 0 || dimension.zero.empty());
    while (number && end < values.size() && values[end] == values[end - 1] + 1) ++end;
    if (end - first >= kShortestRange) {
      words.push_back(fmt::format("{}{}{}", values[first], kRange, values[end - 1]));
    } else {
      for (std::size_t i = first; i < end; ++i) words.push_back(word_of(values[i], dimension));
    }
    first = end;
  }
  return fmt::format("[{}]", fmt::join(words, ", "));
}

std::string numbers_text(const std::vector<int>& numbers) {
  return values_text({numbers.begin(), numbers.end()}, search_dimensions().front());
}

}  // namespace mirfak
