#include "base/section.hpp"
#include "base/units.hpp"
#include "report/memory_remedies.hpp"
#include "report/search_measure.hpp"
#include "report/search_report.hpp"
#include "report/search_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

namespace mirfak {

namespace {

// Meaning of the strategies that are left after a step of the search.
struct StepMeaning {
  std::string_view name;
  std::string_view meaning;
};
constexpr std::array kMeanings = {
    StepMeaning{"enumerated", "all of the space; on several types, what bounds leave"},
    StepMeaning{"after rules", "keep the rules of model, framework and scenario"},
    StepMeaning{"after memory", "not known to need more memory than they may use"},
    StepMeaning{"after bounds", "could be among the results, or within the limits"},
    StepMeaning{"simulated", "judged by the engine"},
};

std::string_view meaning_of(std::string_view step) {
  const auto found =
      std::find_if(kMeanings.begin(), kMeanings.end(), [&](const StepMeaning& of) { return of.name == step; });
  return found == kMeanings.end() ? std::string_view() : found->meaning;
}

constexpr double kWorthAChance = 0.05;  // least probability of fitting at which a run is worth a trial

std::int64_t left_after(const SearchReport& report, std::string_view step) {
  const auto found = std::find_if(report.outcome.funnel.begin(), report.outcome.funnel.end(),
                                  [&](const FunnelStep& of) { return of.name == step; });
  return found == report.outcome.funnel.end() ? 0 : found->count;
}

constexpr const char* kRaiseLimits =
    "raise search.deadline_days, search.budget_usd, search.power_cap_w or another limit of power, or change "
    "cluster.nodes";

double watts(const FoundStrategy& found) { return found.energy_j / found.iteration_time_s; }

// Returns the time, cost and power that are possible: for the whole training if its tokens are known, else for an
// iteration.
std::string possible_text(const SearchReport& report) {
  const SearchOutcome& outcome = report.outcome;
  if (!outcome.fastest) return {};
  const TrainingSpec& training = report.scenario.job.training;
  const double tokens = training.tokens_of(training.global_batch);
  const double iterations = training.tokens > 0 ? training.tokens / tokens : 1;
  std::string out =
      fmt::format("; fastest possible {} at {:.4g} kW", format_seconds(outcome.fastest->iteration_time_s * iterations),
                  watts(*outcome.fastest) / 1000);
  if (outcome.cheapest) {
    out += fmt::format("; cheapest {} at {:.4g} kW", format_usd(outcome.cheapest->cost_usd * iterations),
                       watts(*outcome.cheapest) / 1000);
  }
  return out + fmt::format("; the fewest GPUs draw {:.4g} kW while they wait", outcome.least_waiting_w / 1000);
}

// Returns the lower bound that a stopped search knows for all strategies.
std::string least_text(const SearchReport& report) {
  const std::optional<double> least = report.outcome.least_possible;
  if (!least) return {};
  const SearchMeasure measure = measure_of(report.scenario.search.spec.objective);
  return fmt::format("; {} needs {} at least", measure.of, measure.text(*least));
}

// Returns what the nearest of the strategies lacks that need too much memory.
std::string nearest_text(const SearchReport& report) {
  const SearchOutcome& outcome = report.outcome;
  std::string out = fmt::format("the nearest lacks {} on its fullest stage", format_bytes(outcome.min_shortage_bytes));
  if (outcome.nearest_fit_probability) {
    out += fmt::format(" and fits with a probability of {}", format_percent(*outcome.nearest_fit_probability));
  }
  return out;
}

std::string shortage_text(const SearchReport& report) {
  if (report.outcome.min_shortage_bytes <= 0) return {};
  const SearchSpec& spec = report.scenario.search.spec;
  std::string kept;
  if (spec.fit_probability > 0) {
    kept = fmt::format(" with a probability of {} or more", format_percent(spec.fit_probability));
  } else if (spec.headroom > 0) {
    kept = fmt::format(", where {} of every memory stays free", format_percent(spec.headroom));
  }
  return fmt::format("{}; {}", kept, nearest_text(report));
}

// Returns the headroom that fits, rounded down.
std::string fitting_headroom_text(double headroom) {
  constexpr double parts = 1000;
  return fmt::format("it fits with search.headroom: {}", std::floor(headroom * parts) / parts);
}

// Returns the probability to ask for so that the nearest strategy is found, rounded down.
std::string fitting_probability_text(double probability) {
  constexpr double parts = 1000;
  return fmt::format("it is found with search.fit_probability: {}", std::floor(probability * parts) / parts);
}

std::string memory_hint(const SearchReport& report) {
  std::string remedies = memory_advice(report.scenario);
  const std::optional<double> headroom = report.outcome.headroom_that_fits;
  const std::optional<double> probability = report.outcome.nearest_fit_probability;
  std::string nearest;
  if (report.scenario.search.spec.fit_probability == 0) {
    if (headroom) nearest = fitting_headroom_text(*headroom);
  } else if (probability && *probability >= kWorthAChance) {
    nearest = fitting_probability_text(*probability);
  }
  if (nearest.empty()) return remedies;
  return nearest + (remedies.empty() ? "" : "; or " + remedies);
}

}  // namespace

std::string memory_limit_text(const SearchSpec& spec) {
  std::string out;
  if (spec.headroom > 0) out = format_percent(spec.headroom) + " of every memory stays free";
  if (spec.fit_probability > 0) {
    out += fmt::format("{}strategies fit with a probability of {} or more", out.empty() ? "" : ", ",
                       format_percent(spec.fit_probability));
  }
  return out.empty() ? "all of it may be used" : out;
}

std::string held_back_text(const SearchReport& report) {
  const std::int64_t held = left_after(report, "after rules") - left_after(report, "after memory");
  if (report.outcome.min_shortage_bytes <= 0 || report.scenario.search.spec.fit_probability <= 0) return {};
  return fmt::format("{} strategies for want of memory; {}", held, nearest_text(report));
}

Table funnel_table(const SearchReport& report) {
  Table table("strategies:name | >left:count | >share | >CPU time:time_s |");
  const double all = report.outcome.funnel.empty() ? 0 : static_cast<double>(report.outcome.funnel.front().count);
  for (const FunnelStep& step : report.outcome.funnel) {
    const double share = all > 0 ? static_cast<double>(step.count) / all : 0;
    table.add(
        {step.name, step.count, format_number(100 * share) + " %", in_seconds(step.time_s), meaning_of(step.name)});
  }
  return table;
}

std::string funnel_text(const SearchReport& report) {
  return "\nWhere the strategies were lost\n" + funnel_table(report).text() +
         "  what a bound excludes cannot be among the results: simulating all would find the same\n";
}

namespace {

// Returns the reason of a failure and a hint. If `hint` is false, a hint that takes simulations is left empty.
SearchFailure failure_of(const SearchReport& report, bool hint) {
  const std::int64_t all = left_after(report, "enumerated");
  const std::int64_t valid = left_after(report, "after rules");
  const std::int64_t fitting = left_after(report, "after memory");
  if (!report.outcome.complete) {
    return {"stopped before anything that fits was simulated" + least_text(report),
            "give it more time, or a smaller search.space"};
  }
  if (const std::string possible = possible_text(report); !possible.empty()) {
    return {"no strategy keeps the limits" + possible, kRaiseLimits};
  }
  if (all == 0) {
    return {fmt::format("no strategy of the space divides {} GPUs", report.scenario.job.cluster.gpus()),
            "widen search.space, or change cluster.nodes"};
  }
  if (valid == 0) {
    return {fmt::format("none of {} strategies keeps the rules of the model, the framework and the scenario", all),
            "look for what contradicts in search.rules, strategy and search.space (--show-space)"};
  }
  if (fitting == 0) {
    return {fmt::format("none of {} strategies fits in memory{}", valid, shortage_text(report)),
            hint ? memory_hint(report) : std::string()};
  }
  const std::string lost = valid > fitting
                               ? fmt::format(", and {} need too much memory{}", valid - fitting, shortage_text(report))
                               : std::string();
  if (has_limits(report.scenario.search.spec)) {
    return {fmt::format("none of {} strategies keeps the limits{}", fitting, lost), kRaiseLimits};
  }
  return {fmt::format("none of {} strategies can be simulated{}", fitting, lost), "change search.space"};
}

}  // namespace

SearchFailure search_failure(const SearchReport& report) { return failure_of(report, true); }

std::string search_failure_reason(const SearchReport& report) { return failure_of(report, false).reason; }

}  // namespace mirfak
