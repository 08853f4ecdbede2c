#include "base/section.hpp"
#include "base/units.hpp"
#include "report/frontier_report.hpp"
#include "report/letter_plot.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace mirfak {

namespace {

constexpr std::size_t kPlotColumns = 64;
constexpr std::size_t kLabelWidth = 9;

char letter_of(const Baseline& baseline) {
  if (baseline.kind == Baseline::Kind::balanced_stages) return 'B';
  return baseline.kind == Baseline::Kind::highest_clock ? 'H' : ' ';
}

std::string plot_text(const Frontier& frontier) {
  const std::vector<FrontierPoint>& points = frontier.points;
  if (points.size() < 2) return {};
  const StragglerPlan& plan = frontier.plans.front();
  const double highest_j = plan.baselines.front().executed.energy_j;
  const double right = std::max(frontier.t_star_s, to_seconds(plan.deadline));
  const double bottom = points.back().energy_j;
  const double top = std::max(highest_j, points.front().energy_j);
  LetterPlot plot(frontier.t_min_s, right, bottom, top, kPlotColumns);
  for (std::size_t column = 0; column < kPlotColumns; ++column) {
    const double time = plot.x_of(column);
    const auto energy = frontier.min_energy_j(time);
    if (energy && time <= frontier.t_star_s) plot.mark(time, *energy, '*');
  }
  for (const Baseline& baseline : plan.baselines) {
    const char letter = letter_of(baseline);
    if (letter != ' ') plot.mark(to_seconds(baseline.executed.makespan), baseline.executed.energy_j, letter);
  }
  const int digits = digits_for_steps(right - frontier.t_min_s, right);
  const int digits_of_energy = digits_for_steps(top - bottom, top);
  return plot.text({format_seconds(frontier.t_min_s, digits), format_seconds(right, digits),
                    format_joules(bottom, digits_of_energy), format_joules(top, digits_of_energy)},
                   kLabelWidth) +
         "             * frontier   H highest clock   B balanced stages\n\n";
}

std::string plan_text(const StragglerPlan& plan, double blocked_w) {
  std::string out =
      plan.slowdown == 1
          ? fmt::format("no straggler: the iteration may take {}\n", format_seconds(to_seconds(plan.deadline)))
          : fmt::format("a straggler takes {:g} times as long: the iteration may take {}\n", plan.slowdown,
                        format_seconds(to_seconds(plan.deadline)));
  Table table("clocks | >done after | >energy | >saved |");
  const auto add = [&](const std::string& name, const ExecutedClocks& executed) {
    table.add({name, in_seconds(to_seconds(executed.makespan)),
               in_joules(plan.energy_until_deadline_j(executed, blocked_w)),
               in_percent(plan.saving(executed, blocked_w)), lateness_text(plan, executed)});
  };
  add("frontier", plan.executed);
  for (const Baseline& baseline : plan.baselines) add(baseline.name, baseline.executed);
  return out + table.text() + '\n';
}

std::string steps_text(const FrontierReport& report) {
  if (report.steps.empty()) return {};
  const StragglerPlan& plan = report.frontier.plans.front();
  Table table(fmt::format("what may be chosen | >shortest | >energy then | >energy in {} | >saved",
                          format_seconds(to_seconds(plan.deadline))));
  for (const FrontierStep& step : report.steps) {
    table.add({step.choices, in_seconds(step.t_min_s), in_joules(step.t_min_energy_j), in_joules(step.energy_j),
               in_percent(step.saving)});
  }
  const double above = plan.executed.energy_j / plan.planned_energy_j - 1;
  return table.text() +
         fmt::format("  the plan needs {} more than the curve, below which no plan of these choices lies\n\n",
                     format_percent(std::max(0.0, above)));
}

}  // namespace

std::string lateness_text(const StragglerPlan& plan, const ExecutedClocks& executed) {
  if (executed.makespan <= plan.deadline) return {};
  const double share = static_cast<double>(executed.makespan) / static_cast<double>(plan.deadline) - 1;
  constexpr double min_shown = 5e-4;  // a smaller share would show as 0.0 %
  return share < min_shown ? "hardly too late" : fmt::format("{} too late", format_percent(share));
}

std::string frontier_text(const FrontierReport& report) {
  const Frontier& frontier = report.frontier;
  std::string out = report.title + "\n\n";
  Table ends("|>|>");
  ends.add({"shortest iteration", format_seconds(frontier.t_min_s), format_joules(frontier.points.front().energy_j)});
  ends.add({"least energy", format_seconds(frontier.t_star_s), format_joules(frontier.points.back().energy_j)});
  out += ends.text() + fmt::format("  {} passes, {} corner{} between\n\n", frontier.activities, frontier.points.size(),
                                   frontier.points.size() == 1 ? "" : "s");
  out += plot_text(frontier);
  for (const StragglerPlan& plan : frontier.plans) out += plan_text(plan, frontier.blocked_w);
  out += steps_text(report);
  out += "energy: of all ranks until the iteration is over for all, waiting included; as executed\n";
  for (const std::string& note : report.notes) out += "note: " + note + '\n';
  return out;
}

}  // namespace mirfak
