#include "cluster/expert_popularity.hpp"

#include "base/csv.hpp"
#include "base/file_reference.hpp"
#include "base/random.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace mirfak {

namespace {

constexpr double kMaxTokens = 1e15;
constexpr double kHighestSkew = 10;

double sum_of(const std::vector<double>& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

void divide_by_mean(std::vector<double>& values) {
  // Equal values become exactly 1, without division by a rounded mean.
  if (std::all_of(values.begin(), values.end(), [&](double value) { return value == values.front(); })) {
    std::fill(values.begin(), values.end(), 1);
    return;
  }
  const double mean = sum_of(values) / static_cast<double>(values.size());
  for (double& value : values) value /= mean;
}

// Limits falling values of mean 1 to `most` >= 1, and keeps the mean.
void level(std::vector<double>& values, double most) {
  for (std::size_t full = 0; full < values.size() && values[full] > most; ++full) {
    const double left = std::accumulate(values.begin() + static_cast<std::ptrdiff_t>(full) + 1, values.end(), 0.0);
    const double wanted = static_cast<double>(values.size()) - most * static_cast<double>(full + 1);
    values[full] = most;
    for (std::size_t i = full + 1; i < values.size(); ++i) values[i] *= wanted / left;
  }
}

std::vector<double> tokens_in(const Node& file) {
  const CsvTable table = CsvTable::from_file(FileReference(file).existing_path(), kSmallTableFile);
  const std::size_t expert = table.require("expert");
  const std::size_t tokens = table.require("tokens");
  const auto count = static_cast<std::int64_t>(table.rows());
  std::vector<double> out(table.rows(), -1);
  for (std::size_t row = 0; row < table.rows(); ++row) {
    double& own = out[static_cast<std::size_t>(table.integer(row, expert, 0, count - 1))];
    if (own >= 0) table.fail(row, expert, "this expert has tokens already");
    own = table.number(row, tokens, 0, kMaxTokens);
  }
  return out;
}

}  // namespace

std::vector<double> ExpertPopularity::loads(int experts, int per_token) const {
  std::vector<double> out = tokens;
  for (int i = 0; i < experts && !measured(); ++i) out.push_back(std::pow(i + 1, -skew));
  divide_by_mean(out);
  if (!measured()) level(out, static_cast<double>(experts) / per_token);
  return out;
}

std::string ExpertPopularity::yaml() const {
  return measured() ? fmt::format("{{tokens: [{}]}}", fmt::join(tokens, ", ")) : fmt::format("{{skew: {}}}", skew);
}

double fullest_rank(const std::vector<double>& loads, int ranks) {
  const auto of_rank = static_cast<std::ptrdiff_t>(loads.size()) / ranks;
  if (ranks == 1) return 1;
  double out = 0;
  for (auto first = loads.begin(); loads.end() - first >= of_rank; first += of_rank) {
    out = std::max(out, std::accumulate(first, first + of_rank, 0.0) / static_cast<double>(of_rank));
  }
  return out;
}

std::vector<double> fullest_ranks(const std::vector<double>& loads, int ranks, int count, std::uint64_t seed) {
  std::vector<std::pair<double, double>> order(loads.size());  // sorted by a random number
  std::vector<double> placed(loads.size());
  std::vector<double> out;
  for (int placement = 0; placement < count; ++placement) {
    for (std::size_t expert = 0; expert < order.size(); ++expert) {
      order[expert] = {uniform({seed, static_cast<std::uint32_t>(placement), 0, expert}), loads[expert]};
    }
    std::sort(order.begin(), order.end());
    std::transform(order.begin(), order.end(), placed.begin(), [](const auto& of) { return of.second; });
    out.push_back(fullest_rank(placed, ranks));
  }
  std::sort(out.begin(), out.end());
  return out;
}

ExpertPopularity read_expert_popularity(const Node& node) {
  ExpertPopularity out;
  if (node.is_scalar()) {
    out.tokens = tokens_in(node);
  } else {
    Mapping keys(node);
    const auto skew = keys.find("skew");
    const auto tokens = keys.find("tokens");
    keys.finish();
    if (skew.has_value() == tokens.has_value()) {
      node.fail("expected either skew or tokens", "such as {skew: 0.5}, or {tokens: [120, 80, 100, 100]}");
    }
    if (skew) {
      out.skew = skew->as_number(0, kHighestSkew);
      return out;
    }
    for (const Node& item : tokens->as_items()) out.tokens.push_back(item.as_number(0, kMaxTokens));
  }
  if (!(sum_of(out.tokens) > 0)) node.fail("no expert gets any tokens", "state how many each gets of a measured step");
  return out;
}

}  // namespace mirfak
