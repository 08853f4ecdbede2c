#include "report/plan_report.hpp"

#include "base/section.hpp"
#include "base/units.hpp"
#include "report/job_text.hpp"
#include "report/memory_remedies.hpp"
#include "report/search_report.hpp"
#include "report/search_tables.hpp"
#include "report/strategy_columns.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>

namespace mirfak {

namespace {

using Json = nlohmann::ordered_json;
using alpa::ExecutedPlan;
using alpa::Levels;
using alpa::ModelStage;
using alpa::PlannerOutcome;

const char* name_of(Levels levels) {
  switch (levels) {
    case Levels::intra_only:
      return "intra-operator parallelism alone";
    case Levels::inter_only:
      return "inter-operator parallelism alone";
    case Levels::both:
      break;
  }
  return "intra- and inter-operator parallelism";
}

double seconds_of(const SimulatedStrategy& strategy) { return strategy.iteration.iteration_time_s; }

std::string submesh_text(const alpa::Submesh& submesh) {
  if (submesh.nodes == 1) return submesh.gpus == 1 ? "1 GPU" : fmt::format("{} GPUs", submesh.gpus);
  return fmt::format("{} x {} GPUs", submesh.nodes, submesh.gpus);
}

std::string headline(const PlanReport& report) {
  const Job& job = report.scenario.job;
  const PlannerOutcome& outcome = report.outcome;
  Table table("|", 0);
  table.add({"scenario", report.scenario.name});
  table.add({"model", model_text(job.model)});
  table.add({"cluster", cluster_text(job.cluster)});
  table.add(
      {"batch", fmt::format("{}, {}, {}", sequences_text(job.training), job.training.precision, job.framework.name)});
  table.add({"planner", fmt::format("Alpa, {}", name_of(report.levels))});
  table.add({"memory", memory_limit_text(report.scenario.search.spec)});
  table.add({"planned", fmt::format("in {}: {} integer programs, {} partitions, {} strategies executed",
                                    format_seconds(outcome.total_s), outcome.effort.programs, outcome.effort.partitions,
                                    outcome.executed)});
  if (!outcome.complete) table.add({"stopped", "early: the best of what was planned until then"});
  return table.text();
}

// Returns the stages of a plan as it was made. Later changes by the engine leave their sizes alone or are named.
std::string stages_text(const ExecutedPlan& best) {
  Table table(">stage | >layers | devices | mesh | >tp | >dp | >ep | >in flight | >a microbatch | >memory");
  for (std::size_t i = 0; i < best.plan.stages.size(); ++i) {
    const ModelStage& stage = best.plan.stages[i];
    table.add({fmt::format("{}", i), fmt::format("{}-{}", stage.first, stage.end - 1), submesh_text(stage.submesh),
               fmt::format("{} x {}", stage.rows, stage.columns), fmt::format("{}", stage.shape.tensor),
               fmt::format("{}", stage.shape.data), fmt::format("{}", stage.shape.expert),
               fmt::format("{}", stage.in_flight), format_seconds(stage.cost.seconds),
               format_bytes(stage.cost.bytes(stage.in_flight))});
  }
  return "Stages\n" + table.text();
}

std::string changed_text(const ExecutedPlan& best) {
  const Job& job = best.simulated.found.job;
  if (job.strategy == best.plan.strategy) return {};
  Job planned = job;
  planned.strategy = best.plan.strategy;
  return fmt::format("  changed by what the engine says of changes: {}; it then takes {}\n",
                     differences_text(job, planned), format_seconds(seconds_of(best.simulated)));
}

std::string gain_text(const ExecutedPlan& best) {
  if (!best.gain) return {};
  const alpa::FreedomGain& gain = *best.gain;
  const std::string proven = gain.proven ? "" : " (the best found in time, not proven)";
  if (gain.share() < 5e-4) {
    return fmt::format("  no shardings of these stages' blocks are faster by the integer programs' count{}\n", proven);
  }
  return fmt::format("  shardings that no strategy can say would take {} less by the integer programs' count{}\n",
                     format_percent(gain.share()), proven);
}

// Returns a difference in words. `difference`: share of the value that is compared with.
std::string compared_text(double difference) {
  constexpr double nothing = 5e-4;  // a smaller share would show as 0.0 %
  if (std::abs(difference) < nothing) return "as long as";
  return difference < 0 ? format_percent(-difference) + " less than" : format_percent(difference) + " longer than";
}

std::string strategies_text(const PlanReport& report) {
  const ExecutedPlan& best = report.outcome.plans.front();
  Table table("| >iteration | >memory |");
  const auto row = [&](const std::string& name, const SimulatedStrategy& of) {
    table.add({name, format_seconds(seconds_of(of)), format_bytes(of.iteration.memory_peak_bytes),
               strategy_text(of.found.job)});
  };
  row("plan", best.simulated);
  for (std::size_t i = 1; i < report.outcome.plans.size(); ++i) {
    row(fmt::format("plan {}", i + 1), report.outcome.plans[i].simulated);
  }
  if (!report.searched) return "\nBy the engine\n" + table.text() + "  there was no time for the search as well\n";
  if (report.searched->strategies.empty()) {
    return "\nBy the engine\n" + table.text() + "  the search finds nothing in this space\n";
  }
  row(report.searched->complete ? "search" : "search, stopped", report.searched->strategies.front());
  const double other = seconds_of(report.searched->strategies.front());
  return "\nBy the engine\n" + table.text() +
         fmt::format("  the plan takes {} the search's best, found in {}\n",
                     compared_text(seconds_of(best.simulated) / other - 1),
                     format_seconds(report.searched->search_time_s));
}

std::string work_text(const PlanReport& report) {
  const PlannerOutcome& outcome = report.outcome;
  const alpa::PlanningEffort& effort = outcome.effort;
  Table table("step | >number | >time |");
  table.add({"choices", fmt::format("{}", effort.choices), "",
             "microbatches, recomputation, divided experts and gathered parameters: what stages share"});
  table.add({"meshes", fmt::format("{}", effort.meshes), "", "logical meshes of submeshes, for each choice"});
  table.add({"integer programs", fmt::format("{}", effort.programs), format_seconds(effort.programs_s),
             "shardings of a block on a mesh, with profiling; of all threads"});
  table.add({"partitions", fmt::format("{}", effort.partitions), format_seconds(effort.partitions_s),
             "dynamic programs over layers and submeshes; of all threads"});
  table.add({"executed", fmt::format("{}", outcome.executed), format_seconds(outcome.execute_s),
             fmt::format("by the engine: {} plans, {} changes of one thing; {} fit in memory",
                         outcome.executed - outcome.changes, outcome.changes, outcome.fitting)});
  return "\nThe planner's work\n" + table.text();
}

Json stage_json(const ModelStage& stage) {
  return {{"first_layer", stage.first},
          {"layers", stage.end - stage.first},
          {"nodes", stage.submesh.nodes},
          {"gpus_per_node", stage.submesh.gpus},
          {"mesh", Json::array({stage.rows, stage.columns})},
          {"tensor", stage.shape.tensor},
          {"data", stage.shape.data},
          {"expert", stage.shape.expert},
          {"in_flight", stage.in_flight},
          {"microbatch_s", stage.cost.seconds},
          {"integer_programs_s", stage.program_s},
          {"memory_bytes", stage.cost.bytes(stage.in_flight)}};
}

Json planned_json(const ExecutedPlan& plan) {
  Json stages = Json::array();
  for (const ModelStage& stage : plan.plan.stages) stages.push_back(stage_json(stage));
  Json gain = nullptr;
  if (plan.gain) {
    gain = {{"expressible_s", plan.gain->expressible_s},
            {"any_s", plan.gain->any_s},
            {"share", plan.gain->share()},
            {"proven", plan.gain->proven}};
  }
  return {{"estimate_s", plan.plan.estimate_s},
          {"planned_time_s", plan.planned_s},
          {"iteration_time_s", seconds_of(plan.simulated)},
          {"strategy", strategy_json(plan.plan.strategy)},
          {"stages", stages},
          {"any_sharding", gain}};
}

Json searched_json(const std::optional<SearchOutcome>& searched) {
  if (!searched) return nullptr;
  Json out = {{"search_time_s", searched->search_time_s}, {"complete", searched->complete}};
  const bool found = !searched->strategies.empty();
  out["iteration_time_s"] = found ? Json(seconds_of(searched->strategies.front())) : Json(nullptr);
  out["strategy"] = found ? strategy_json(searched->strategies.front().found.job.strategy) : Json(nullptr);
  return out;
}

}  // namespace

std::string plan_text(const PlanReport& report) {
  if (report.outcome.plans.empty()) return headline(report) + work_text(report);
  const ExecutedPlan& best = report.outcome.plans.front();
  return headline(report) + '\n' +
         fmt::format("Alpa's plan: an iteration takes {} by the engine, {} by the planner's count\n",
                     format_seconds(best.planned_s), format_seconds(best.plan.estimate_s)) +
         changed_text(best) + gain_text(best) + '\n' + stages_text(best) + strategies_text(report) +
         notes_text(best.simulated.found.job, best.simulated.iteration, report.notes) + work_text(report);
}

nlohmann::ordered_json plan_json(const PlanReport& report, double wall_time_s) {
  static const std::vector<std::string> levels = {"both", "intra-only", "inter-only"};
  const SearchOutcome outcome = outcome_of(report.outcome);
  Json out = search_json(SearchReport{report.scenario, outcome, report.notes}, wall_time_s);
  out["planner"] = "alpa";
  out["levels"] = levels[static_cast<std::size_t>(report.levels)];
  out["plan"] = report.outcome.plans.empty() ? Json(nullptr) : planned_json(report.outcome.plans.front());
  const alpa::PlanningEffort& effort = report.outcome.effort;
  out["planning"] = {{"choices", effort.choices},
                     {"meshes", effort.meshes},
                     {"integer_programs", effort.programs},
                     {"integer_programs_s", effort.programs_s},
                     {"partitions", effort.partitions},
                     {"partitions_s", effort.partitions_s},
                     {"executed", report.outcome.executed},
                     {"changes", report.outcome.changes},
                     {"executed_s", report.outcome.execute_s},
                     {"total_s", report.outcome.total_s}};
  out["search"] = searched_json(report.searched);
  return out;
}

SearchOutcome outcome_of(const PlannerOutcome& outcome) {
  SearchOutcome out;
  for (const ExecutedPlan& plan : outcome.plans) out.strategies.push_back(plan.simulated);
  out.funnel = {{"planned", outcome.planned, outcome.plan_s},
                {"executed", outcome.executed, outcome.execute_s},
                {"fit in memory", outcome.fitting, 0}};
  out.complete = outcome.complete;
  out.search_time_s = outcome.total_s;
  out.min_shortage_bytes = outcome.least_shortage_bytes;
  return out;
}

SearchFailure plan_failure(const PlanReport& report) {
  const PlannerOutcome& outcome = report.outcome;
  if (!outcome.complete) return {"stopped before a plan was found", "give it more time, or a smaller search.space"};
  if (outcome.least_shortage_bytes > 0) {
    return {fmt::format("none of {} plans fits in memory; the nearest lacks {} on its fullest stage", outcome.executed,
                        format_bytes(outcome.least_shortage_bytes)),
            memory_advice(report.scenario)};
  }
  const std::string advice = memory_advice(report.scenario);
  const std::string remedy = advice.empty() ? "allow more in search.space, or take more nodes" : advice;
  switch (report.levels) {
    case Levels::intra_only:
      return {"no plan without pipeline stages keeps the rules and fits in memory",
              "leave --intra-only out; or " + remedy};
    case Levels::inter_only:
      return {"no plan with a GPU for each stage, which has whole layers, keeps the rules and fits in memory",
              "leave --inter-only out; or " + remedy};
    case Levels::both:
      break;
  }
  return {"no plan keeps the rules and fits in memory", remedy};
}

}  // namespace mirfak
