#include "base/units.hpp"
#include "report/frontier_report.hpp"
#include "report/text_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mirfak {

namespace {

constexpr int kPlotColumns = 64;
constexpr int kPlotRows = 12;

// A character grid with a scale on both axes.
class Plot {
 public:
  Plot(double left, double right, double bottom, double top)
      : left_(left), right_(right), bottom_(bottom), top_(top), rows_(kPlotRows, std::string(kPlotColumns, ' ')) {}

  double time_of(int column) const { return left_ + (right_ - left_) * column / (kPlotColumns - 1); }
  void mark(double time_s, double energy_j, char letter) {
    const long column = std::lround((time_s - left_) / (right_ - left_) * (kPlotColumns - 1));
    const long row = std::lround((top_ - energy_j) / (top_ - bottom_) * (kPlotRows - 1));
    if (column < 0 || column >= kPlotColumns || row < 0 || row >= kPlotRows) return;
    rows_[static_cast<std::size_t>(row)][static_cast<std::size_t>(column)] = letter;
  }
  std::string text() const {
    const int digits_of_energy = digits_for_steps(top_ - bottom_, top_);
    std::string out;
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      const std::string label = row == 0                  ? format_joules(top_, digits_of_energy)
                                : row + 1 == rows_.size() ? format_joules(bottom_, digits_of_energy)
                                                          : "";
      std::string line = fmt::format("  {:>9} |{}", label, rows_[row]);
      line.erase(line.find_last_not_of(' ') + 1);
      out += line + '\n';
    }
    const int digits = digits_for_steps(right_ - left_, right_);
    const std::string first = format_seconds(left_, digits);
    const std::string last = format_seconds(right_, digits);
    return out + fmt::format("  {:>9} +{:->{}}\n  {:>9}  {}{:>{}}\n", "", "", kPlotColumns, "", first, last,
                             kPlotColumns - static_cast<int>(first.size()));
  }

 private:
  double left_;
  double right_;
  double bottom_;
  double top_;
  std::vector<std::string> rows_;
};

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
  Plot plot(frontier.t_min_s, right, points.back().energy_j, std::max(highest_j, points.front().energy_j));
  for (int column = 0; column < kPlotColumns; ++column) {
    const double time = plot.time_of(column);
    const auto energy = frontier.min_energy_j(time);
    if (energy && time <= frontier.t_star_s) plot.mark(time, *energy, '*');
  }
  for (const Baseline& baseline : plan.baselines) {
    const char letter = letter_of(baseline);
    if (letter != ' ') plot.mark(to_seconds(baseline.executed.makespan), baseline.executed.energy_j, letter);
  }
  return plot.text() + "             * frontier   H highest clock   B balanced stages\n\n";
}

std::string plan_text(const StragglerPlan& plan, double blocked_w) {
  std::string out =
      plan.slowdown == 1
          ? fmt::format("no straggler: the iteration may take {}\n", format_seconds(to_seconds(plan.deadline)))
          : fmt::format("a straggler takes {:g} times as long: the iteration may take {}\n", plan.slowdown,
                        format_seconds(to_seconds(plan.deadline)));
  TextTable table("lrrrl");
  table.add_row({"clocks", "done after", "energy", "saved"});
  const auto add = [&](const std::string& name, const ExecutedClocks& executed) {
    table.add_row({name, format_seconds(to_seconds(executed.makespan)),
                   format_joules(plan.energy_until_deadline_j(executed, blocked_w)),
                   format_percent(plan.saving(executed, blocked_w)), lateness_text(plan, executed)});
  };
  add("frontier", plan.executed);
  for (const Baseline& baseline : plan.baselines) add(baseline.name, baseline.executed);
  return out + table.text() + '\n';
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
  TextTable ends("lrr");
  ends.add_row(
      {"shortest iteration", format_seconds(frontier.t_min_s), format_joules(frontier.points.front().energy_j)});
  ends.add_row({"least energy", format_seconds(frontier.t_star_s), format_joules(frontier.points.back().energy_j)});
  out += ends.text() + fmt::format("  {} passes, {} corner{} between\n\n", frontier.activities, frontier.points.size(),
                                   frontier.points.size() == 1 ? "" : "s");
  out += plot_text(frontier);
  for (const StragglerPlan& plan : frontier.plans) out += plan_text(plan, frontier.blocked_w);
  out += "energy: of all ranks until the iteration is over for all, waiting included; as executed\n";
  for (const std::string& note : report.notes) out += "note: " + note + '\n';
  return out;
}

}  // namespace mirfak
