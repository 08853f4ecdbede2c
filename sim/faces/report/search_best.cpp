// Table of the best strategy of each of the best layouts, in which a parameter has a column only if the strategies
// differ in it, and the differences of their variants.

#include "base/section.hpp"
#include "base/units.hpp"
#include "report/search_measure.hpp"
#include "report/search_tables.hpp"
#include "report/strategy_columns.hpp"
#include "simulation/prediction_range.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace mirfak {

namespace {

constexpr std::size_t kColumns = 96;  // length of a line of words

bool all_agree(const SearchReport& report, const StrategyColumn& column) {
  const std::string first = column.cell(report.outcome.strategies.front().found.job);
  return std::all_of(report.outcome.strategies.begin(), report.outcome.strategies.end(),
                     [&](const SimulatedStrategy& strategy) { return column.cell(strategy.found.job) == first; });
}

std::string wrapped(const std::string& first, const std::vector<std::string>& words) {
  std::string out;
  std::string line = first;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string word = words[i] + (i + 1 < words.size() ? "," : "");
    if (line.size() + 1 + word.size() > kColumns) {
      out += line + '\n';
      line = "   ";
    }
    line += ' ' + word;
  }
  return out + line + '\n';
}

std::string variants_text(const SearchReport& report) {
  const SearchMeasure measure = measure_of(report.scenario.search.spec.objective);
  Table table(">|>|");
  for (std::size_t i = 0; i < report.outcome.strategies.size(); ++i) {
    const FoundStrategy& best = report.outcome.strategies[i].found;
    for (const FoundStrategy& variant : best.variants) {
      const bool first = &variant == &best.variants.front();
      table.add({first ? Cell(i + 1) : Cell(), format_signed_percent(measure.value(variant) / measure.value(best) - 1),
                 differences_text(variant.job, best.job)});
    }
  }
  if (table.empty()) return {};
  return fmt::format("\nVariants: the next best of a layout, up to {} that are better than the last one listed\n",
                     kMaxVariants) +
         table.text();
}

// Returns the strategies that predictions cannot tell from the best one.
std::string ties_text(const SearchReport& report) {
  const std::vector<SimulatedStrategy>& strategies = report.outcome.strategies;
  const SearchObjective objective = report.scenario.search.spec.objective;
  if (objective == SearchObjective::pareto || strategies.size() < 2) return {};
  const SimulatedStrategy& best = strategies.front();
  std::vector<std::string> alike;
  for (std::size_t i = 1; i < strategies.size(); ++i) {
    if (ties(measure_of(objective), best, strategies[i])) alike.push_back(std::to_string(i + 1));
  }
  if (alike.empty()) return {};
  const bool all = alike.size() > 1 && alike.size() + 1 == strategies.size();
  return fmt::format("{} {} with 1: it takes {}, as {:.0f} % of measured iterations, and their ranges overlap\n",
                     all ? "All others" : fmt::format("{}", fmt::join(alike, ", ")), alike.size() > 1 ? "tie" : "ties",
                     range_text(best.iteration), 100 * best.found.job.ranges.level);
}

}  // namespace

std::string best_strategies_text(const SearchReport& report) {
  std::vector<const StrategyColumn*> shown;
  std::vector<std::string> agreed;
  for (const StrategyColumn& column : strategy_columns()) {
    if (!column.tells(report.outcome.strategies.front().found.job)) continue;
    if (!all_agree(report, column)) {
      shown.push_back(&column);
    } else if (std::string words = column.words(report.outcome.strategies.front().found.job); !words.empty()) {
      agreed.push_back(std::move(words));
    }
  }
  const std::vector<SimulatedStrategy>& strategies = report.outcome.strategies;
  const bool priced =
      std::any_of(strategies.begin(), strategies.end(), [](const auto& of) { return of.iteration.priced; });
  Table table("> | >finish | >iteration | >tokens/s | >MFU | >memory | >cost | >energy", 0);
  table.show("finish", strategies.front().found.finish_s > 0);
  table.show("cost", priced);
  for (const StrategyColumn* column : shown) table.add_column(std::string(column->heading));
  for (std::size_t i = 0; i < strategies.size(); ++i) {
    const IterationResult& r = strategies[i].iteration;
    std::vector<Cell> cells = {i + 1,
                               in_seconds(strategies[i].found.finish_s),
                               in_seconds(r.iteration_time_s),
                               in_count(r.tokens_per_s),
                               in_percent(r.mfu),
                               in_bytes(r.memory_peak_bytes),
                               r.priced ? in_usd(r.cost_usd) : "no price",
                               in_joules(r.energy_j)};
    for (const StrategyColumn* column : shown) cells.emplace_back(column->cell(strategies[i].found.job));
    table.add(std::move(cells));
  }
  std::string out =
      wrapped(report.outcome.strategies.size() > 1 ? "All of them:" : "The only one:", agreed) + table.text();
  const bool overlaps =
      std::any_of(shown.begin(), shown.end(), [](const auto* of) { return of->heading == "overlap"; });
  if (overlaps) out += "overlap: t tensor communication, g gradient reduction, p parameter gather\n";
  return out + ties_text(report) + variants_text(report);
}

}  // namespace mirfak
