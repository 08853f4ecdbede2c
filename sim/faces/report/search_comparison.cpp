// Comparison of the best strategy with another one, activity by activity. The activities of an iteration sum to its
// time, so their differences sum to the difference of the times.

#include "base/section.hpp"
#include "base/units.hpp"
#include "report/search_measure.hpp"
#include "report/search_tables.hpp"
#include "report/strategy_columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace mirfak {

namespace {

constexpr double kShown = 0.02;     // activities with a smaller share of the largest difference have no row
constexpr double kMentioned = 0.1;  // activities with a smaller share are not in the sentence
constexpr std::size_t kMaxMentioned = 3;

std::string with_sign(double value, std::string (*format)(double)) {
  return (value < 0 ? "-" : "+") + format(std::abs(value));
}

std::string advantage(const FoundStrategy& best, const FoundStrategy& other, SearchObjective objective) {
  const SearchMeasure measure = measure_of(objective);
  const double share = measure.value(other) > 0 ? 1 - measure.value(best) / measure.value(other) : 0;
  constexpr double nothing = 5e-5;  // a smaller share would show as 0.0 %
  if (share < -nothing) return fmt::format("{} less so: it is not {}", format_percent(-share), measure.better);
  if (share < nothing) return "as good";
  return fmt::format("{} {}", format_percent(share), measure.better);
}

// Returns the activities by the size of their difference, largest first.
std::vector<std::size_t> by_difference(const ActivitySeconds& difference) {
  std::vector<std::size_t> order(kActivities);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return std::abs(difference[a]) > std::abs(difference[b]); });
  return order;
}

std::string differences_table(const IterationResult& best, const IterationResult& other,
                              const char* heading = "other") {
  ActivitySeconds difference{};
  double largest = 0;
  for (std::size_t i = 0; i < kActivities; ++i) {
    difference[i] = best.activity_s[i] - other.activity_s[i];
    largest = std::max(largest, std::abs(difference[i]));
  }
  Table table(fmt::format("| >best | >{} | >difference", heading));
  std::string mentioned;
  std::size_t count = 0;
  for (const std::size_t i : by_difference(difference)) {
    if (std::abs(difference[i]) <= kShown * largest) continue;
    const std::string name(name_of(static_cast<Activity>(i)));
    table.add({name, format_seconds(best.activity_s[i]), format_seconds(other.activity_s[i]),
               with_sign(difference[i], format_seconds)});
    if (std::abs(difference[i]) < kMentioned * largest || ++count > kMaxMentioned) continue;
    mentioned += fmt::format("{}{} {}", mentioned.empty() ? "" : ", ", with_sign(difference[i], format_seconds), name);
  }
  const auto row = [&](const char* name, double own, double others, std::string (*format)(double)) {
    table.add({name, format(own), format(others), with_sign(own - others, format)});
  };
  row("iteration", best.iteration_time_s, other.iteration_time_s, format_seconds);
  if (best.priced && other.priced) row("cost", best.cost_usd, other.cost_usd, format_usd);
  row("energy", best.energy_j, other.energy_j, format_joules);
  row("memory", best.memory_peak_bytes, other.memory_peak_bytes, format_bytes);
  return (mentioned.empty() ? std::string() : "  the time: " + mentioned + '\n') + table.text();
}

// Returns the second best of all: a variant of the best strategy, or the best of another layout.
const FoundStrategy* runner_up(const SearchReport& report) {
  const SearchMeasure measure = measure_of(report.scenario.search.spec.objective);
  const std::vector<FoundStrategy>& variants = report.outcome.strategies.front().found.variants;
  const FoundStrategy* variant = variants.empty() ? nullptr : &variants.front();
  const FoundStrategy* other = report.outcome.other_layout ? &report.outcome.other_layout->found : nullptr;
  if (variant == nullptr || other == nullptr) return variant == nullptr ? other : variant;
  return measure.value(*variant) <= measure.value(*other) ? variant : other;
}

}  // namespace

std::string search_comparison_text(const SearchReport& report) {
  const SimulatedStrategy& best = report.outcome.strategies.front();
  const SearchObjective objective = report.scenario.search.spec.objective;
  std::string out;
  if (const FoundStrategy* next = runner_up(report)) {
    out += fmt::format("\nThe best against the runner-up: {}\n  it has {}\n", advantage(best.found, *next, objective),
                       differences_text(best.found.job, next->job));
  }
  if (!report.outcome.other_layout) return out;
  const SimulatedStrategy& other = *report.outcome.other_layout;
  return out +
         fmt::format("\nThe best against the best of another layout: {}\n  it has {}\n",
                     advantage(best.found, other.found, objective), differences_text(best.found.job, other.found.job)) +
         differences_table(best.iteration, other.iteration);
}

std::string baseline_text(const SearchReport& report) {
  if (!report.scenario.baseline) return {};
  const std::string& refused = report.scenario.baseline->refused;
  if (!report.outcome.baseline) return "cannot run: " + refused;
  const SimulatedStrategy& yours = *report.outcome.baseline;
  const SearchMeasure measure = measure_of(report.scenario.search.spec.objective);
  std::string out = measure.text(measure.value(yours.found));
  if (!yours.iteration.fits) {
    out += fmt::format(", needs {} of {} of memory", format_bytes(yours.iteration.memory_peak_bytes),
                       format_bytes(yours.iteration.memory_capacity_bytes));
  } else if (yours.iteration.fit_probability >= 0 &&
             yours.iteration.fit_probability < report.scenario.search.spec.fit_probability) {
    out += fmt::format(", fits with a probability of {} only", format_percent(yours.iteration.fit_probability));
  }
  if (report.outcome.strategies.empty()) return out;
  const FoundStrategy& best = report.outcome.strategies.front().found;
  return out + fmt::format("; best {}, {}", measure.text(measure.value(best)),
                           format_signed_percent(measure.value(best) / measure.value(yours.found) - 1));
}

std::string baseline_comparison_text(const SearchReport& report) {
  if (!report.outcome.baseline || report.outcome.strategies.empty()) return {};
  const SimulatedStrategy& best = report.outcome.strategies.front();
  const SimulatedStrategy& yours = *report.outcome.baseline;
  const std::string differences = differences_text(best.found.job, yours.found.job);
  return fmt::format("\nThe best against yours: {}\n  it has {}\n",
                     advantage(best.found, yours.found, report.scenario.search.spec.objective), differences) +
         differences_table(best.iteration, yours.iteration, "yours");
}

}  // namespace mirfak
