#include "base/units.hpp"
#include "engine/execute.hpp"
#include "report/frontier_report.hpp"
#include "report/markup.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace mirfak {

namespace {

constexpr double kWidth = 720;
constexpr double kHeight = 380;
constexpr double kCurveLeft = 90;
constexpr double kCurveTop = 20;
constexpr double kRow = 18;               // of a stage in the drawing of clocks
constexpr std::size_t kMaxPasses = 8192;  // that are drawn one by one
constexpr int kTicks = 5;

struct Axes {
  double time_first = std::numeric_limits<double>::infinity();
  double time_last = 0;
  double energy_min = std::numeric_limits<double>::infinity();
  double energy_max = 0;

  void hold(double time_s, double energy_j) {
    time_first = std::min(time_first, time_s);
    time_last = std::max(time_last, time_s);
    energy_min = std::min(energy_min, energy_j);
    energy_max = std::max(energy_max, energy_j);
  }
  void widen() {
    const double time = std::max(time_last - time_first, time_last * 1e-3) * 0.05;
    const double energy = std::max(energy_max - energy_min, energy_max * 1e-3) * 0.05;
    time_first -= time;
    time_last += time;
    energy_min -= energy;
    energy_max += energy;
  }
  double x(double time_s) const { return kCurveLeft + kWidth * (time_s - time_first) / (time_last - time_first); }
  double y(double energy_j) const { return kCurveTop + kHeight * (energy_max - energy_j) / (energy_max - energy_min); }
};

std::string grid(const Axes& axes) {
  const double time_range = axes.time_last - axes.time_first;
  const double energy_range = axes.energy_max - axes.energy_min;
  const int time_digits = digits_for_steps(time_range / kTicks, axes.time_last);
  const int energy_digits = digits_for_steps(energy_range / kTicks, axes.energy_max);
  std::string out;
  for (int i = 0; i <= kTicks; ++i) {
    const double share = static_cast<double>(i) / kTicks;
    const double time = axes.time_first + share * time_range;
    const double energy = axes.energy_min + share * energy_range;
    out += fmt::format("<path d='M{0:.1f} {1:.1f}V{2:.1f}M{3:.1f} {4:.1f}H{5:.1f}' stroke='#ddd'/>\n", axes.x(time),
                       kCurveTop, kCurveTop + kHeight, kCurveLeft, axes.y(energy), kCurveLeft + kWidth);
    out += fmt::format("<text x='{:.1f}' y='{:.1f}' text-anchor='middle'>{}</text>\n", axes.x(time),
                       kCurveTop + kHeight + 16, format_seconds(time, time_digits));
    out += fmt::format("<text x='{:.1f}' y='{:.1f}' text-anchor='end'>{}</text>\n", kCurveLeft - 6, axes.y(energy) + 4,
                       format_joules(energy, energy_digits));
  }
  return out + fmt::format("<text x='{:.0f}' y='{:.0f}' text-anchor='middle'>time of an iteration</text>\n",
                           kCurveLeft + kWidth / 2, kCurveTop + kHeight + 36);
}

// Executed clocks as points; the names of those at the same place stand together.
class Markers {
 public:
  void add(const ExecutedClocks& executed, const std::string& name, const char* colour) {
    const FrontierPoint at = {to_seconds(executed.makespan), executed.energy_j};
    const auto known = std::find_if(markers_.begin(), markers_.end(), [&](const Marker& marker) {
      return marker.at.iteration_time_s == at.iteration_time_s && marker.at.energy_j == at.energy_j;
    });
    if (known == markers_.end()) {
      markers_.push_back({at, name, colour});
    } else {
      known->name += ", " + name;
    }
  }

  std::string svg(const Axes& axes) const {
    std::string out;
    for (const Marker& marker : markers_) {
      const double x = axes.x(marker.at.iteration_time_s);
      const double y = axes.y(marker.at.energy_j);
      const bool right = x > kCurveLeft + kWidth * 0.6;
      out += fmt::format(
          "<g fill='{0}'><circle cx='{1:.1f}' cy='{2:.1f}' r='4'><title>{3}: {4}, {5}</title></circle>"
          "<text x='{6:.1f}' y='{7:.1f}' text-anchor='{8}'>{3}</text></g>\n",
          marker.colour, x, y, escaped(marker.name), format_seconds(marker.at.iteration_time_s),
          format_joules(marker.at.energy_j), right ? x - 7 : x + 7, y - 5, right ? "end" : "start");
    }
    return out;
  }

 private:
  struct Marker {
    FrontierPoint at;
    std::string name;
    const char* colour;
  };
  std::vector<Marker> markers_;
};

std::string curve_svg(const Frontier& frontier) {
  const StragglerPlan& first = frontier.plans.front();
  Axes axes;
  for (const FrontierPoint& point : frontier.points) axes.hold(point.iteration_time_s, point.energy_j);
  for (const Baseline& baseline : first.baselines) {
    axes.hold(to_seconds(baseline.executed.makespan), baseline.executed.energy_j);
  }
  for (const StragglerPlan& plan : frontier.plans) {
    axes.hold(to_seconds(plan.executed.makespan), plan.executed.energy_j);
  }
  axes.widen();
  std::string out = fmt::format("<svg viewBox='0 0 {0:.0f} {1:.0f}' width='{0:.0f}' height='{1:.0f}'>\n",
                                kCurveLeft + kWidth + 20, kCurveTop + kHeight + 46);
  out += grid(axes) + "<path fill='none' stroke='#1f5fa8' stroke-width='2' d='";
  char command = 'M';
  for (const FrontierPoint& point : frontier.points) {
    out += fmt::format("{}{:.1f} {:.1f}", command, axes.x(point.iteration_time_s), axes.y(point.energy_j));
    command = 'L';
  }
  out += "'/>\n";
  Markers markers;
  for (const Baseline& baseline : first.baselines) markers.add(baseline.executed, baseline.name, "#777");
  for (const StragglerPlan& plan : frontier.plans) {
    markers.add(plan.executed,
                plan.slowdown == 1 ? std::string("no straggler") : fmt::format("straggler x {:g}", plan.slowdown),
                "#c03a2b");
  }
  out += markers.svg(axes);
  return out + "</svg>\n";
}

// From blue at the lowest clock of the plan over yellow to red at the highest.
std::string colour_of(double share) {
  constexpr std::array<std::array<double, 3>, 3> colours = {{{58, 110, 196}, {240, 200, 90}, {200, 58, 44}}};
  const std::size_t first = share < 0.5 ? 0 : 1;
  const double part = 2 * share - static_cast<double>(first);
  const auto mixed = [&](std::size_t channel) {
    return static_cast<int>(colours[first][channel] * (1 - part) + colours[first + 1][channel] * part);
  };
  return fmt::format("#{:02x}{:02x}{:02x}", mixed(0), mixed(1), mixed(2));
}

// The passes of every stage over time, coloured by clock; nothing for programs of very many.
std::string clocks_svg(const ClockedProgram& clocked, const ExecutedClocks& executed) {
  const Timeline timeline = execute(with_clocks(clocked, executed.clocks));
  double lowest = std::numeric_limits<double>::infinity();
  double highest = 0;
  int stages = 0;
  std::size_t passes = 0;
  for (TaskId task = 0; task < clocked.program.size(); ++task) {
    if (!clocked.is_clocked(task)) continue;
    ++passes;
    lowest = std::min(lowest, executed.clocks[task].clock_hz);
    highest = std::max(highest, executed.clocks[task].clock_hz);
    stages = std::max(stages, clocked.program.class_of(task).stage + 1);
  }
  if (passes == 0 || passes > kMaxPasses) return {};
  const double height = kRow * stages;
  std::string out = fmt::format("<svg viewBox='0 0 {0:.0f} {1:.0f}' width='{0:.0f}' height='{1:.0f}'>\n",
                                kCurveLeft + kWidth + 20, height + 40);
  for (int stage = 0; stage < stages; ++stage) {
    out += fmt::format("<text x='{:.0f}' y='{:.0f}' text-anchor='end'>stage {}</text>\n", kCurveLeft - 6,
                       kRow * stage + kRow - 5, stage);
  }
  for (TaskId task = 0; task < clocked.program.size(); ++task) {
    if (!clocked.is_clocked(task)) continue;
    const TaskClass& of = clocked.program.class_of(task);
    const double scale = kWidth / static_cast<double>(executed.makespan);
    const double hertz = executed.clocks[task].clock_hz;
    out += fmt::format(
        "<rect x='{:.2f}' y='{:.1f}' width='{:.2f}' height='{:.1f}' fill='{}'{}><title>{} {}: {:.0f} "
        "MHz</title></rect>\n",
        kCurveLeft + static_cast<double>(timeline.start[task]) * scale, kRow * of.stage + 1,
        static_cast<double>(executed.clocks[task].duration) * scale, kRow - 3,
        colour_of(highest > lowest ? (hertz - lowest) / (highest - lowest) : 1),
        of.kind == TaskKind::forward ? " fill-opacity='0.65'" : "", of.name, clocked.program.microbatch[task],
        hertz / kMegahertz);
  }
  out += fmt::format(
      "<text x='{:.0f}' y='{:.0f}'>0</text><text x='{:.0f}' y='{:.0f}' text-anchor='end'>{}</text>"
      "<text x='{:.0f}' y='{:.0f}' text-anchor='middle'>blue {:.0f} MHz, red {:.0f} MHz; forward passes "
      "lighter</text>\n",
      kCurveLeft, height + 16, kCurveLeft + kWidth, height + 16, format_seconds(to_seconds(executed.makespan)),
      kCurveLeft + kWidth / 2, height + 32, lowest / kMegahertz, highest / kMegahertz);
  return out + "</svg>\n";
}

std::string plan_table(const StragglerPlan& plan, double blocked_w) {
  std::string out = "<table><tr><th>clocks</th><th>done after</th><th>energy</th><th>saved</th><th></th></tr>\n";
  const auto add = [&](const std::string& name, const ExecutedClocks& executed) {
    out += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n", escaped(name),
                       format_seconds(to_seconds(executed.makespan)),
                       format_joules(plan.energy_until_deadline_j(executed, blocked_w)),
                       format_percent(plan.saving(executed, blocked_w)), lateness_text(plan, executed));
  };
  add("frontier", plan.executed);
  for (const Baseline& baseline : plan.baselines) add(baseline.name, baseline.executed);
  return out + "</table>\n";
}

constexpr const char* kStyle =
    "body{font:14px sans-serif;color:#222;max-width:860px;margin:24px auto}svg{font:11px sans-serif;fill:#222}"
    "table{border-collapse:collapse;margin:8px 0}td,th{padding:3px 12px;border-bottom:1px solid #ddd;text-align:right}"
    "td:first-child,th:first-child{text-align:left}h2{font-size:16px;margin-top:28px}";

}  // namespace

std::string frontier_html(const FrontierReport& report) {
  const Frontier& frontier = report.frontier;
  std::string out = fmt::format(
      "<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'><title>Time-energy frontier</title>\n"
      "<style>{}</style></head><body>\n<h1>Time-energy frontier</h1>\n<p>{}</p>\n",
      kStyle, escaped(report.title));
  out += fmt::format(
      "<p>Shortest iteration {} with {}; least energy {} in {}. Without slowing the iteration down, {} "
      "of the energy at the highest clocks is saved.</p>\n",
      format_seconds(frontier.t_min_s), format_joules(frontier.points.front().energy_j),
      format_joules(frontier.points.back().energy_j), format_seconds(frontier.t_star_s),
      format_percent(frontier.intrinsic_saving()));
  out += curve_svg(frontier);
  for (const StragglerPlan& plan : frontier.plans) {
    out += plan.slowdown == 1 ? std::string("<h2>No straggler</h2>\n")
                              : fmt::format("<h2>A straggler takes {:g} times as long</h2>\n", plan.slowdown);
    out += plan_table(plan, frontier.blocked_w) + clocks_svg(report.clocked, plan.executed);
  }
  for (const std::string& note : report.notes) out += "<p>" + escaped(note) + "</p>\n";
  return out + "</body></html>\n";
}

}  // namespace mirfak
