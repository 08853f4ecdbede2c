#include "cluster/distribution.hpp"

#include "base/averages.hpp"
#include "base/csv.hpp"
#include "base/file_reference.hpp"
#include "base/random.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace mirfak {

namespace {

// Range of values in a unit of their own, such as tokens. Values that were divided by their mean may be read again.
constexpr double kHighestMeasured = 1e12;
constexpr double kLowestMeasured = kLowestFactor / kHighestMeasured;
constexpr double kRoundingOfMean = 1e-12;

template <class... Ts>
struct Overloaded : Ts... {
  using Ts::operator()...;
};
template <class... Ts>
Overloaded(Ts...) -> Overloaded<Ts...>;

Distribution measured(const Node& node, std::vector<double> values, bool relative) {
  if (values.empty()) node.fail("no values to draw from");
  double average = mean(values);
  if (std::abs(average - 1) < kRoundingOfMean) average = 1;  // these values were divided by their mean before
  std::sort(values.begin(), values.end());
  for (double& value : values) {
    if (relative) value /= average;
    if (value > kHighestFactor) node.fail(fmt::format("{} is more than {} times as long", value, kHighestFactor));
  }
  return Distribution(std::move(values));
}

Distribution from_file(const Node& node, const char* column, bool relative) {
  const CsvTable table = CsvTable::from_file(FileReference(node).existing_path(), kSmallTableFile);
  const std::size_t at = table.require(column);
  std::vector<double> values;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    values.push_back(table.number(row, at, relative ? kLowestMeasured : kLowestFactor,
                                  relative ? kHighestMeasured : kHighestFactor));
  }
  return measured(node, std::move(values), relative);
}

std::vector<double> values_of(const Node& node, bool relative) {
  std::vector<double> out;
  for (const Node& item : node.as_items())
    out.push_back(
        item.as_number(relative ? kLowestMeasured : kLowestFactor, relative ? kHighestMeasured : kHighestFactor));
  return out;
}

}  // namespace

double Distribution::quantile(double u) const {
  const double value = std::visit(
      Overloaded{[u](const Normal& of) { return of.mean + of.deviation * normal_quantile(u); },
                 [u](const Lognormal& of) { return of.median * std::exp(of.sigma * normal_quantile(u)); },
                 [u](const TwoPoint& of) {
                   const bool rare = of.value < 1 ? u < of.share : u >= 1 - of.share;
                   return rare ? of.value : 1;
                 },
                 [u](const Measured& of) {
                   return of[std::min(of.size() - 1, static_cast<std::size_t>(u * static_cast<double>(of.size())))];
                 }},
      of_);
  return std::clamp(value, kLowestFactor, kHighestFactor);
}

std::string Distribution::yaml() const {
  return std::visit(Overloaded{[](const Normal& of) {
                                 return fmt::format("{{normal: {{mean: {}, deviation: {}}}}}", of.mean, of.deviation);
                               },
                               [](const Lognormal& of) {
                                 return fmt::format("{{lognormal: {{median: {}, sigma: {}}}}}", of.median, of.sigma);
                               },
                               [](const TwoPoint& of) {
                                 return fmt::format("{{two_point: {{share: {}, value: {}}}}}", of.share, of.value);
                               },
                               [](const Measured& of) { return fmt::format("{{values: [{}]}}", fmt::join(of, ", ")); }},
                    of_);
}

Distribution read_distribution(const Node& node, const char* column, bool relative) {
  if (node.is_scalar()) return from_file(node, column, relative);
  Mapping forms(node);
  const std::vector<std::string> keys = forms.keys();
  std::vector<Distribution> found;
  const auto read = [&](const char* name, auto parse) {
    if (const auto form = forms.find(name)) {
      Mapping entry(*form);
      found.push_back(parse(entry));
      entry.finish();
    }
  };
  read("normal", [](Mapping& entry) {
    return Distribution(Distribution::Normal{entry.number_or("mean", 1, kLowestFactor, kHighestFactor),
                                             entry.require("deviation").as_number(0, kHighestFactor)});
  });
  read("lognormal", [](Mapping& entry) {
    return Distribution(Distribution::Lognormal{entry.number_or("median", 1, kLowestFactor, kHighestFactor),
                                                entry.require("sigma").as_number(0, 5)});
  });
  read("two_point", [](Mapping& entry) {
    return Distribution(Distribution::TwoPoint{entry.require("share").as_number(0, 1),
                                               entry.require("value").as_number(kLowestFactor, kHighestFactor)});
  });
  if (const auto values = forms.find("values"))
    found.push_back(measured(*values, values_of(*values, relative), relative));
  forms.finish();
  if (found.size() != 1) {
    node.fail("expected one distribution: normal, lognormal, two_point or values, or a CSV file",
              "such as {lognormal: {sigma: 0.02}}, or {two_point: {share: 0.005, value: 1.1}}");
  }
  return found.front();
}

}  // namespace mirfak
