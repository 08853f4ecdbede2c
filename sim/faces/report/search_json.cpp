#include "report/search_report.hpp"

#include "base/document_json.hpp"
#include "base/json_parts.hpp"
#include "base/units.hpp"
#include "report/result_json.hpp"
#include "report/search_measure.hpp"
#include "report/search_tables.hpp"
#include "scenario/resolved.hpp"

#include <nlohmann/json.hpp>

namespace mirfak {

namespace {

using Json = nlohmann::ordered_json;

}  // namespace

nlohmann::ordered_json strategy_json(const Strategy& strategy) {
  return document_json(*completed_strategy(strategy).find("strategy"));
}

namespace {

Json nodes_json(const Cluster& cluster) {
  Json out = Json::array();
  for (const NodeGroup& group : cluster.kinds()) {
    const double clock_hz = group.hardware.spec.clock_hz;
    out.push_back({{"type", group.hardware.spec.name}, {"count", group.count}});
    if (group.hardware.spec.part) out.back()["gpu"] = group.hardware.gpu.name;
    if (clock_hz > 0) out.back()["clock_mhz"] = clock_hz / kMegahertz;
  }
  return out;
}

Json finish_json(const FoundStrategy& found) { return found.finish_s > 0 ? Json(found.finish_s) : Json(nullptr); }

Json variants_json(const SimulatedStrategy& strategy) {
  Json out = Json::array();
  for (const FoundStrategy& variant : strategy.found.variants) {
    out.push_back({{"strategy", strategy_json(variant.job.strategy)},
                   {"nodes", nodes_json(variant.job.cluster)},
                   {"iteration_time_s", variant.iteration_time_s},
                   {"cost_usd_per_iteration", strategy.iteration.priced ? Json(variant.cost_usd) : Json(nullptr)},
                   {"energy_j", variant.energy_j},
                   {"time_to_finish_s", finish_json(variant)}});
  }
  return out;
}

Json strategy_entry(const SimulatedStrategy& strategy) {
  Json out = Json::object();
  out["strategy"] = strategy_json(strategy.found.job.strategy);
  out["nodes"] = nodes_json(strategy.found.job.cluster);
  if (const auto& planned = strategy.found.planned) {
    out["planned"] = {
        {"energy_j", planned->energy_j}, {"t_star_s", planned->t_star_s}, {"least_energy_j", planned->min_energy_j}};
  }
  out["time_to_finish_s"] = finish_json(strategy.found);
  out["variants"] = variants_json(strategy);
  out.update(result_json(strategy.found.job, strategy.iteration, strategy.wall_time_s));
  return out;
}

// Returns what the scenario states; null for a search without a baseline.
Json baseline_json(const SearchReport& report) {
  if (!report.scenario.baseline) return nullptr;
  if (!report.outcome.baseline) return {{"refused", report.scenario.baseline->refused}};
  Json out = {{"refused", nullptr}};
  out.update(strategy_entry(*report.outcome.baseline));
  out.erase("variants");
  return out;
}

Json limit_json(double limit) { return limit > 0 ? Json(limit) : Json(nullptr); }

}  // namespace

nlohmann::ordered_json search_json(const SearchReport& report, double wall_time_s) {
  const SearchSection& search = report.scenario.search;
  Json out = Json::object();
  out["scenario"] = report.scenario.name;
  out["model"] = report.scenario.job.model.name;
  out["objective"] = search_objective_names()[static_cast<std::size_t>(search.spec.objective)];
  out["limits"] = {{"deadline_days", limit_json(search.deadline_days)},
                   {"budget_usd", limit_json(search.budget_usd)},
                   {"power_cap_w", limit_json(search.spec.power_cap_w)}};
  for (const PowerLimitKey& limit : kPowerLimitKeys) {
    out["limits"][limit.key] = limit_json(search.spec.power_limits.*limit.of);
  }
  out["headroom"] = search.spec.headroom;
  out["fit_probability"] = search.spec.fit_probability;
  out["tolerance"] = search.spec.tolerance;
  Json& strategies = out["strategies"] = Json::array();
  const SearchMeasure measure = measure_of(search.spec.objective);
  for (const SimulatedStrategy& strategy : report.outcome.strategies) {
    strategies.push_back(strategy_entry(strategy));
    if (search.spec.objective == SearchObjective::pareto) continue;
    strategies.back()["ties_with_best"] = ties(measure, report.outcome.strategies.front(), strategy);
  }
  out["baseline"] = baseline_json(report);
  out["robust"] = robust_json(report);
  out["funnel"] = funnel_table(report).json();
  out["complete"] = report.outcome.complete;
  out["least_possible"] = json_or_null(report.outcome.least_possible);
  Json& left_out = out["left_out"] = Json::array();
  for (const LeftOut& type : report.outcome.left_out) {
    left_out.push_back({{"nodes", type.nodes}, {"reason", type.reason}});
  }
  out["least_shortage_bytes"] = limit_json(report.outcome.min_shortage_bytes);
  out["nearest_fit_probability"] = json_or_null(report.outcome.nearest_fit_probability);
  out["headroom_that_fits"] = json_or_null(report.outcome.headroom_that_fits);
  Json& notes = out["notes"] = report.scenario.notes;
  for (const std::string& note : report.notes) notes.push_back(note);
  out["search_time_s"] = report.outcome.search_time_s;
  out["wall_time_s"] = wall_time_s;
  return out;
}

}  // namespace mirfak
