#include "report/search_report.hpp"

#include "base/section.hpp"
#include "base/units.hpp"
#include "report/job_text.hpp"
#include "report/search_measure.hpp"
#include "report/search_tables.hpp"
#include "report/stage_holders.hpp"

#include <fmt/format.h>

namespace mirfak {

namespace {

constexpr std::int64_t kCountedOut = 10'000;  // counts from this one on are rounded

std::string objective_text(const SearchSection& search) {
  static const std::vector<std::string> sentences = {"least time", "least cost", "least energy",
                                                     "the Pareto set of time, cost and energy",
                                                     "the earliest expected end of the training"};
  std::string out = sentences[static_cast<std::size_t>(search.spec.objective)];
  if (search.deadline_days > 0) out += fmt::format(", done within {:g} days", search.deadline_days);
  if (search.budget_usd > 0) out += fmt::format(", for at most {}", format_price(search.budget_usd));
  if (search.spec.power_cap_w > 0) out += fmt::format(", at most {:g} kW", search.spec.power_cap_w / 1000);
  for (const PowerLimitKey& limit : kPowerLimitKeys) {
    const double most = search.spec.power_limits.*limit.of;
    if (most > 0) out += fmt::format(", {} at most {:g}", limit.key, most);
  }
  return out;
}

std::string count_of(const SearchReport& report, std::string_view step) {
  for (const FunnelStep& of : report.outcome.funnel) {
    if (of.name == step)
      return of.count < kCountedOut ? fmt::format("{}", of.count) : format_count(static_cast<double>(of.count));
  }
  return "0";
}

// Returns a sentence on a stopped search, with the largest possible distance from the best of all.
std::string stopped_text(const SearchReport& report) {
  std::string out = "early: the best of what was simulated, not of all";
  const SearchOutcome& outcome = report.outcome;
  if (!outcome.least_possible || outcome.strategies.empty()) return out;
  const SearchMeasure measure = measure_of(report.scenario.search.spec.objective);
  const double best = measure.value(outcome.strategies.front().found);
  return out + fmt::format("; {} needs {} at least, {} less", measure.of, measure.text(*outcome.least_possible),
                           format_percent(1 - *outcome.least_possible / best));
}

std::string headline(const SearchReport& report) {
  const Job& job = report.scenario.job;
  const SearchSpec& spec = report.scenario.search.spec;
  Table table("|", 0);
  table.add({"scenario", report.scenario.name});
  table.add({"model", model_text(job.model)});
  table.add({"cluster", (spec.any_count ? "up to " : "") + cluster_text(job.cluster)});
  table.add(
      {"batch", fmt::format("{}, {}, {}", sequences_text(job.training), job.training.precision, job.framework.name)});
  table.add({"wanted", objective_text(report.scenario.search)});
  if (const std::string yours = baseline_text(report); !yours.empty()) table.add({"yours", yours});
  for (const std::string& note : report.scenario.notes) table.add({"space", note});
  table.add({"memory", memory_limit_text(spec)});
  if (const std::string held = held_back_text(report); !held.empty()) table.add({"held back", held});
  table.add({"searched", fmt::format("{} strategies in {}, {} of them simulated", count_of(report, "enumerated"),
                                     format_seconds(report.outcome.search_time_s), count_of(report, "simulated"))});
  const std::string unpriced = job.cluster.missing_prices();
  if (!unpriced.empty()) table.add({"cost", unpriced});
  for (const LeftOut& type : report.outcome.left_out) table.add({"left out", type.nodes + ": " + type.reason});
  if (spec.tolerance > 0) {
    table.add({"tolerance", "what is not listed is at most " + format_percent(spec.tolerance) + " better"});
  }
  if (!report.outcome.complete) table.add({"stopped", stopped_text(report)});
  return table.text();
}

std::string best_notes_text(const SearchReport& report) {
  const SimulatedStrategy& best = report.outcome.strategies.front();
  return notes_text(best.found.job, best.iteration, report.notes);
}

std::string training_text(const SimulatedStrategy& best) {
  const IterationResult& r = best.iteration;
  if (r.training_time_s <= 0) return {};
  const double iterations = r.training_time_s / r.iteration_time_s;
  std::string out = fmt::format("\nTraining on {} tokens with the best: {}",
                                format_count(best.found.job.training.tokens), format_seconds(r.training_time_s));
  if (r.priced) out += ", " + format_usd(r.training_cost_usd);
  if (best.found.finish_s > 0) {
    return out + fmt::format(" undisturbed; {} expected with failures, checkpoints and pauses\n",
                             format_seconds(best.found.finish_s));
  }
  return out +
         fmt::format(", {} ({})\n", format_joules(r.energy_j * iterations), format_watt_hours(r.energy_j * iterations));
}

}  // namespace

std::string search_text(const SearchReport& report) {
  std::string out = headline(report);
  if (report.outcome.strategies.empty()) return out + funnel_text(report);
  const Job& best = report.outcome.strategies.front().found.job;
  if (report.scenario.search.spec.objective == SearchObjective::pareto) {
    return out + '\n' + pareto_text(report) + baseline_comparison_text(report) + best_notes_text(report) +
           funnel_text(report);
  }
  return out + '\n' + best_strategies_text(report) + training_text(report.outcome.strategies.front()) +
         stage_holders_text(best) + robust_text(report) + baseline_comparison_text(report) +
         search_comparison_text(report) + best_notes_text(report) + funnel_text(report);
}

}  // namespace mirfak
