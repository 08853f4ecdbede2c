// Table of the best strategy of each of the best layouts, in which a parameter has a column only if the strategies
// differ in it, and the differences of their variants.

#include "base/units.hpp"
#include "report/search_measure.hpp"
#include "report/search_tables.hpp"
#include "report/strategy_columns.hpp"
#include "report/text_table.hpp"
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

std::vector<std::string> figures(const SimulatedStrategy& strategy, bool priced) {
  const IterationResult& r = strategy.iteration;
  std::vector<std::string> cells;
  if (strategy.found.finish_s > 0) cells.push_back(format_seconds(strategy.found.finish_s));
  cells.insert(cells.end(), {format_seconds(r.iteration_time_s), format_count(r.tokens_per_s), format_percent(r.mfu),
                             format_bytes(r.memory_peak_bytes)});
  if (priced) cells.push_back(r.priced ? format_usd(r.cost_usd) : "no price");
  cells.push_back(format_joules(r.energy_j));
  return cells;
}

std::string variants_text(const SearchReport& report) {
  const SearchMeasure measure = measure_of(report.scenario.search.spec.objective);
  TextTable table("rrl");
  std::size_t count = 0;
  for (std::size_t i = 0; i < report.outcome.strategies.size(); ++i) {
    const FoundStrategy& best = report.outcome.strategies[i].found;
    for (const FoundStrategy& variant : best.variants) {
      const bool first = &variant == &best.variants.front();
      table.add_row({first ? fmt::format("{}", i + 1) : std::string(),
                     format_signed_percent(measure.value(variant) / measure.value(best) - 1),
                     differences_text(variant.job, best.job)});
      ++count;
    }
  }
  if (count == 0) return {};
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
  std::vector<std::string> head = {""};
  if (strategies.front().found.finish_s > 0) head.emplace_back("finish");
  head.insert(head.end(), {"iteration", "tokens/s", "MFU", "memory"});
  if (priced) head.emplace_back("cost");
  head.emplace_back("energy");
  TextTable table(std::string(head.size(), 'r') + std::string(shown.size(), 'r'), 0);
  for (const StrategyColumn* column : shown) head.emplace_back(column->heading);
  table.add_row(head);
  for (std::size_t i = 0; i < report.outcome.strategies.size(); ++i) {
    std::vector<std::string> cells = figures(report.outcome.strategies[i], priced);
    cells.insert(cells.begin(), fmt::format("{}", i + 1));
    for (const StrategyColumn* column : shown) cells.push_back(column->cell(report.outcome.strategies[i].found.job));
    table.add_row(std::move(cells));
  }
  std::string out =
      wrapped(report.outcome.strategies.size() > 1 ? "All of them:" : "The only one:", agreed) + table.text();
  const bool overlaps =
      std::any_of(shown.begin(), shown.end(), [](const auto* of) { return of->heading == "overlap"; });
  if (overlaps) out += "overlap: t tensor communication, g gradient reduction, p parameter gather\n";
  return out + ties_text(report) + variants_text(report);
}

}  // namespace mirfak
