// A Pareto set: no strategy beats one of the set in time, dollars and joules at once. The knee of the set is the point
// where another dollar stops to buy much time: with time and cost scaled so that the fastest is (0, 1) and the cheapest
// (1, 0), the point farthest below the chord t + c = 1 between the two.

#include "base/section.hpp"
#include "base/units.hpp"
#include "report/letter_plot.hpp"
#include "report/search_tables.hpp"
#include "report/strategy_columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <utility>

namespace mirfak {

namespace {

constexpr std::size_t kMaxParetoRows = 24;
constexpr std::size_t kParetoColumns = 60;

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

// Plots the members: time to the right, the price upwards, both from the least to the most. The extremes and the knee
// are marked by their first letters. `repeats`: iterations that time and price are shown for.
std::string plot(const Strategies& set, const std::map<std::size_t, std::string>& names, Figure price, Unit price_unit,
                 double repeats) {
  const auto ends_of = [&](Figure figure) {
    const auto [min, max] = std::minmax_element(set.begin(), set.end(),
                                                [&](const auto& a, const auto& b) { return figure(a) < figure(b); });
    return std::pair(figure(*min), figure(*max));
  };
  const auto [soonest, latest] = ends_of(time_of);
  const auto [least, most] = ends_of(price);
  if (latest <= soonest || most <= least) return {};
  LetterPlot out(soonest, latest, least, most, kParetoColumns);
  for (const SimulatedStrategy& of : set) out.mark(time_of(of), price(of), '*');
  for (const auto& [row, name] : names) {
    out.mark(time_of(set[row]), price(set[row]), static_cast<char>(std::toupper(name.front())));
  }
  return out.text({format_seconds(soonest * repeats), format_seconds(latest * repeats),
                   format(least * repeats, price_unit), format(most * repeats, price_unit)});
}

}  // namespace

std::string pareto_text(const SearchReport& report) {
  const Strategies& set = report.outcome.strategies;
  const TrainingSpec& training = report.scenario.job.training;
  const double tokens = training.tokens_of(training.global_batch);
  const double iterations = training.tokens > 0 ? training.tokens / tokens : 0;
  const bool priced = std::all_of(set.begin(), set.end(), [](const auto& of) { return of.iteration.priced; });
  const bool planned = std::any_of(set.begin(), set.end(), [](const auto& of) { return of.found.planned.has_value(); });
  const std::map<std::size_t, std::string> names = row_names_of(set, priced);
  const double times = iterations > 0 ? iterations : 1;
  Table table(">time | >cost | >energy | >planned | GPUs | strategy |");
  table.show("cost", priced);
  table.show("planned", planned);
  const std::size_t every = (set.size() + kMaxParetoRows - 1) / kMaxParetoRows;
  for (std::size_t i = 0; i < set.size(); ++i) {
    const auto name = names.find(i);
    if (i % every != 0 && name == names.end()) continue;
    const auto& plan = set[i].found.planned;
    const Job& job = set[i].found.job;
    table.add({in_seconds(time_of(set[i]) * times), in_usd(cost_of(set[i]) * times),
               in_joules(energy_of(set[i]) * times), plan ? in_joules(plan->energy_j * times) : Cell(),
               strategy_columns().front().cell(job), short_strategy(job), name == names.end() ? "" : name->second});
  }
  std::string out = fmt::format("The Pareto set of {}{}: {} strategies, of {}\n",
                                priced ? "time, cost and energy" : "time and energy", every > 1 ? ", some of it" : "",
                                set.size(), iterations > 0 ? "the whole training" : "an iteration");
  out += table.text();
  if (set.size() > 1) {
    out += '\n' + plot(set, names, priced ? cost_of : energy_of, priced ? Unit::usd : Unit::joules, times) + '\n';
  }
  if (planned) out += "  planned: energy at the clocks that need least without taking longer\n";
  return out + fmt::format("  knee: farthest below the line from the fastest to the {}, both axes scaled to 1\n",
                           priced ? "cheapest" : "one of least energy");
}

}  // namespace mirfak
