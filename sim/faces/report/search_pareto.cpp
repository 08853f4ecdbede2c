// A Pareto set: no strategy beats one of the set in time, dollars and joules at once. The knee of the set is the point
// where another dollar stops to buy much time: with time and cost scaled so that the fastest is (0, 1) and the cheapest
// (1, 0), the point farthest below the chord t + c = 1 between the two.

#include "base/units.hpp"
#include "report/search_tables.hpp"
#include "report/strategy_columns.hpp"
#include "report/text_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <utility>

namespace mirfak {

namespace {

constexpr std::size_t kMaxParetoRows = 24;

using Strategies = std::vector<SimulatedStrategy>;
using Figure = double (*)(const SimulatedStrategy&);

double time_of(const SimulatedStrategy& strategy) { return strategy.iteration.iteration_time_s; }
double cost_of(const SimulatedStrategy& strategy) { return strategy.iteration.cost_usd; }
double energy_of(const SimulatedStrategy& strategy) { return strategy.iteration.energy_j; }

std::size_t index_of_min(const Strategies& set, Figure figure) {
  const auto found =
      std::min_element(set.begin(), set.end(),
                       [&](const SimulatedStrategy& a, const SimulatedStrategy& b) { return figure(a) < figure(b); });
  return static_cast<std::size_t>(found - set.begin());
}

// Returns the knee of `price` against time; nullopt: none.
std::optional<std::size_t> knee_of(const Strategies& set, Figure price) {
  const SimulatedStrategy& fastest = set[index_of_min(set, time_of)];
  const SimulatedStrategy& cheapest = set[index_of_min(set, price)];
  const double seconds = time_of(cheapest) - time_of(fastest);
  const double dollars = price(fastest) - price(cheapest);
  if (seconds <= 0 || dollars <= 0) return std::nullopt;
  std::optional<std::size_t> knee;
  double farthest = 0;
  for (std::size_t i = 0; i < set.size(); ++i) {
    const double below =
        1 - (time_of(set[i]) - time_of(fastest)) / seconds - (price(set[i]) - price(cheapest)) / dollars;
    if (below <= farthest) continue;
    farthest = below;
    knee = i;
  }
  return knee;
}

// Returns the names of rows, by index in the set.
std::map<std::size_t, std::string> row_names_of(const Strategies& set, bool priced) {
  std::map<std::size_t, std::string> names;
  const auto add = [&](std::size_t row, const char* name) {
    names[row] += (names[row].empty() ? "" : ", ") + std::string(name);
  };
  add(index_of_min(set, time_of), "fastest");
  if (priced) add(index_of_min(set, cost_of), "cheapest");
  add(index_of_min(set, energy_of), "least energy");
  if (const auto knee = knee_of(set, priced ? cost_of : energy_of)) add(*knee, "knee");
  return names;
}

std::string short_strategy(const Job& job) {
  const std::string out = sizes_text(job);
  const std::string shares = shares_text(job.strategy);
  return shares.empty() ? out : out + " of " + shares;
}

std::vector<std::string> row_of(const SimulatedStrategy& strategy, bool priced, bool planned, double iterations) {
  const IterationResult& r = strategy.iteration;
  const double times = iterations > 0 ? iterations : 1;
  std::vector<std::string> cells = {format_seconds(r.iteration_time_s * times)};
  if (priced) cells.push_back(format_usd(r.cost_usd * times));
  cells.push_back(format_joules(r.energy_j * times));
  const auto& plan = strategy.found.planned;
  if (planned) cells.push_back(plan ? format_joules(plan->energy_j * times) : "");
  cells.push_back(strategy_columns().front().cell(strategy.found.job));
  cells.push_back(short_strategy(strategy.found.job));
  return cells;
}

// Plots the members: time to the right, the price upwards, both from the least to the most. The extremes and the knee
// are marked by their first letters.
std::string plot(const Strategies& set, const std::map<std::size_t, std::string>& names, Figure price,
                 const std::function<std::string(double)>& price_text, double iterations) {
  constexpr std::size_t columns = 60;
  constexpr std::size_t rows = 12;
  const double repeats = iterations > 0 ? iterations : 1;
  const auto ends_of = [&](const auto& figure) {
    const auto [min, max] = std::minmax_element(set.begin(), set.end(),
                                                [&](const auto& a, const auto& b) { return figure(a) < figure(b); });
    return std::pair(figure(*min), figure(*max));
  };
  const std::pair times = ends_of(time_of);
  const std::pair prices = ends_of(price);
  const double seconds = times.second - times.first;
  const double range = prices.second - prices.first;
  if (seconds <= 0 || range <= 0) return {};
  std::vector<std::string> canvas(rows, std::string(columns, ' '));
  const auto cell = [&](const SimulatedStrategy& at) -> char& {
    const double right = (time_of(at) - times.first) / seconds * (columns - 1);
    const double down = (prices.second - price(at)) / range * (rows - 1);
    return canvas[static_cast<std::size_t>(std::lround(down))][static_cast<std::size_t>(std::lround(right))];
  };
  for (const SimulatedStrategy& of : set) cell(of) = '*';
  for (const auto& [row, name] : names) cell(set[row]) = static_cast<char>(std::toupper(name.front()));
  const std::string highest = price_text(prices.second * repeats);
  const std::string lowest = price_text(prices.first * repeats);
  const std::size_t margin = std::max(highest.size(), lowest.size());
  std::string out;
  for (std::size_t row = 0; row < rows; ++row) {
    const std::string label = row == 0 ? highest : row + 1 == rows ? lowest : "";
    canvas[row].erase(canvas[row].find_last_not_of(' ') + 1);
    out += fmt::format("  {:>{}} |{}\n", label, margin, canvas[row]);
  }
  const std::string end = format_seconds(times.second * repeats);
  out += fmt::format("  {:>{}} +{}\n", "", margin, std::string(columns, '-'));
  return out + fmt::format("  {:>{}}  {:<{}}{}\n", "", margin, format_seconds(times.first * repeats),
                           columns - std::min(columns, end.size()), end);
}

}  // namespace

std::string pareto_text(const SearchReport& report) {
  const Strategies& set = report.outcome.strategies;
  const TrainingSpec& training = report.scenario.job.training;
  const double tokens = static_cast<double>(training.global_batch) * static_cast<double>(training.sequence_length);
  const double iterations = training.tokens > 0 ? training.tokens / tokens : 0;
  const bool priced = std::all_of(set.begin(), set.end(), [](const auto& of) { return of.iteration.priced; });
  const bool planned = std::any_of(set.begin(), set.end(), [](const auto& of) { return of.found.planned.has_value(); });
  const std::map<std::size_t, std::string> names = row_names_of(set, priced);
  std::vector<std::string> head = {"time"};
  if (priced) head.emplace_back("cost");
  head.emplace_back("energy");
  if (planned) head.emplace_back("planned");
  TextTable table(std::string(head.size(), 'r') + "lll");
  head.insert(head.end(), {"GPUs", "strategy"});
  table.add_row(head);
  const std::size_t every = (set.size() + kMaxParetoRows - 1) / kMaxParetoRows;
  for (std::size_t i = 0; i < set.size(); ++i) {
    const auto name = names.find(i);
    if (i % every != 0 && name == names.end()) continue;
    std::vector<std::string> cells = row_of(set[i], priced, planned, iterations);
    cells.push_back(name == names.end() ? "" : name->second);
    table.add_row(std::move(cells));
  }
  std::string out = fmt::format("The Pareto set of {}{}: {} strategies, of {}\n",
                                priced ? "time, cost and energy" : "time and energy", every > 1 ? ", some of it" : "",
                                set.size(), iterations > 0 ? "the whole training" : "an iteration");
  out += table.text();
  const auto price_text = [priced](double price) { return priced ? format_usd(price) : format_joules(price); };
  if (set.size() > 1) out += '\n' + plot(set, names, priced ? cost_of : energy_of, price_text, iterations) + '\n';
  if (planned) out += "  planned: energy at the clocks that need least without taking longer\n";
  return out + fmt::format("  knee: farthest below the line from the fastest to the {}, both axes scaled to 1\n",
                           priced ? "cheapest" : "one of least energy");
}

}  // namespace mirfak
