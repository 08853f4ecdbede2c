#include "report/frontier_report.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>

namespace mirfak {

namespace {

using Json = nlohmann::ordered_json;

constexpr double kHertz = 1e3;  // hertz of the last digit of a clock in megahertz
constexpr double kThousandths = 1e3;

void add_execution(Json& out, const StragglerPlan& plan, const ExecutedClocks& executed, double blocked_w) {
  out["iteration_time_s"] = to_seconds(executed.makespan);
  out["energy_j"] = executed.energy_j;
  out["energy_until_deadline_j"] = plan.energy_until_deadline_j(executed, blocked_w);
  out["saving"] = plan.saving(executed, blocked_w);
  out["keeps_deadline"] = executed.makespan <= plan.deadline;
}

Json plan_summary(const StragglerPlan& plan, double blocked_w) {
  Json out = Json::object();
  out["slowdown"] = plan.slowdown;
  out["deadline_s"] = to_seconds(plan.deadline);
  out["planned_time_s"] = to_seconds(plan.planned);
  out["planned_energy_j"] = plan.planned_energy_j;
  add_execution(out, plan, plan.executed, blocked_w);
  Json& others = out["baselines"] = Json::array();
  for (const Baseline& baseline : plan.baselines) {
    Json& other = others.emplace_back(Json::object());
    other["name"] = baseline.name;
    add_execution(other, plan, baseline.executed, blocked_w);
  }
  return out;
}

double megahertz(double clock_hz) { return std::round(clock_hz / kHertz) / kThousandths; }

void add_way(Json& pass, const PassWay& way) {
  pass["nanobatches"] = way.nanobatches;
  if (!way.channels.empty()) {
    Json& channels = pass["channels"] = Json::array();
    for (const PassWay::Channels& run : way.channels) {
      channels.push_back({{"parts", run.parts}, {"communication_sms", run.communication_sms}});
    }
  } else if (way.communication_sms > 0) {
    pass["communication_sms"] = way.communication_sms;
  }
  if (way.clocks.size() > 1) {
    Json& clocks = pass["clocks"] = Json::array();
    for (const PassWay::Run& run : way.clocks) {
      clocks.push_back({{"parts", run.parts}, {"frequency_mhz", megahertz(run.clock_hz)}});
    }
  }
  if (way.launches.empty()) return;
  Json& launches = pass["launches"] = Json::array();
  for (const PassWay::Launch& launch : way.launches) {
    launches.push_back({{"part", launch.part}, {"kernel", launch.kernel}});
  }
}

Json pass_json(const ClockedProgram& clocked, const ClockChoice& choice, const Timeline& timeline, TaskId task) {
  const TaskClass& of = clocked.program.class_of(task);
  Json pass = Json::object();
  pass["pass"] = of.name;
  pass["chunk"] = of.chunk;
  pass["microbatch"] = clocked.program.microbatch[task];
  pass["frequency_mhz"] = megahertz(choice.clock_hz);
  if (choice.way) add_way(pass, *choice.way);
  pass["start_s"] = to_seconds(timeline.start[task]);
  pass["duration_s"] = to_seconds(choice.duration);
  return pass;
}

// Returns a list of stages. The passes of a stage stand in the program in the order in which the stage executes them.
Json stages_json(const ClockedProgram& clocked, const ClockAssignment& clocks) {
  const Timeline timeline = timeline_with(clocked, clocks);
  Json stages = Json::array();
  for (TaskId task = 0; task < clocked.program.size(); ++task) {
    if (!clocked.is_clocked(task)) continue;
    const auto stage = static_cast<std::size_t>(clocked.program.class_of(task).stage);
    while (stages.size() <= stage) stages.push_back({{"stage", stages.size()}, {"passes", Json::array()}});
    stages[stage]["passes"].push_back(pass_json(clocked, clocks[task], timeline, task));
  }
  return stages;
}

}  // namespace

nlohmann::ordered_json frontier_json(const FrontierReport& report, double wall_time_s) {
  const Frontier& frontier = report.frontier;
  Json out = Json::object();
  out["title"] = report.title;
  out["t_min_s"] = frontier.t_min_s;
  out["t_star_s"] = frontier.t_star_s;
  out["intrinsic_saving"] = frontier.intrinsic_saving();
  out["blocked_w"] = frontier.blocked_w;
  out["passes"] = frontier.activities;
  Json& plans = out["plans"] = Json::array();
  for (const StragglerPlan& plan : frontier.plans) plans.push_back(plan_summary(plan, frontier.blocked_w));
  Json& points = out["points"] = Json::array();
  for (const FrontierPoint& point : frontier.points) {
    points.push_back({{"iteration_time_s", point.iteration_time_s}, {"energy_j", point.energy_j}});
  }
  if (!report.steps.empty()) {
    Json& steps = out["steps"] = Json::array();
    for (const FrontierStep& step : report.steps) {
      steps.push_back({{"choices", step.choices},
                       {"t_min_s", step.t_min_s},
                       {"t_min_energy_j", step.t_min_energy_j},
                       {"energy_j", step.energy_j},
                       {"saving", step.saving}});
    }
  }
  out["notes"] = report.notes;
  out["wall_time_s"] = wall_time_s;
  return out;
}

std::string frontier_csv(const Frontier& frontier) {
  std::string out = "iteration_time_s,energy_j\n";
  for (const FrontierPoint& point : frontier.points) {
    out += fmt::format("{:.12f},{:.9g}\n", point.iteration_time_s, point.energy_j);
  }
  return out;
}

nlohmann::ordered_json clock_plan_json(const FrontierReport& report) {
  Json out = Json::object();
  out["title"] = report.title;
  Json& plans = out["plans"] = Json::array();
  for (const StragglerPlan& plan : report.frontier.plans) {
    Json& entry = plans.emplace_back(Json::object());
    entry["slowdown"] = plan.slowdown;
    entry["deadline_s"] = to_seconds(plan.deadline);
    entry["iteration_time_s"] = to_seconds(plan.executed.makespan);
    entry["energy_j"] = plan.executed.energy_j;
    entry["stages"] = stages_json(report.clocked, plan.executed.clocks);
  }
  return out;
}

}  // namespace mirfak
