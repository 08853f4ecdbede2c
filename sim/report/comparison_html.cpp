#include "base/units.hpp"
#include "report/comparison_report.hpp"
#include "report/job_text.hpp"
#include "report/markup.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace mirfak {

namespace {

constexpr double kPlotWidth = 720;
constexpr double kPlotHeight = 340;
constexpr double kPlotLeft = 84;
constexpr double kPlotTop = 16;
constexpr int kPlotTicks = 5;

// Light and dark, on paper and on narrow screens; no font and no file from elsewhere.
constexpr const char* kPageStyle =
    ":root{color-scheme:light "
    "dark;--ink:#1c2430;--paper:#fff;--line:#d5dae1;--soft:#f3f5f8;--mark:#1f5fa8;--late:#a8331f}"
    "@media(prefers-color-scheme:dark){:root{--ink:#e4e8ee;--paper:#14181e;--line:#3a424d;--soft:#1e242c;--mark:#"
    "7db3f0;"
    "--late:#f0907d}}"
    "body{font:15px/1.45 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:1240px;margin:0 auto;"
    "padding:20px 16px}h1{font-size:22px;margin:0 0 4px}h2{font-size:17px;margin:28px 0 8px}p{margin:6px 0}"
    ".table{overflow-x:auto}table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}"
    "th,td{padding:6px 10px;border-bottom:1px solid var(--line);text-align:right;white-space:nowrap}"
    "th:nth-child(2),td:nth-child(2){text-align:left}dt{font-weight:600;margin-top:6px}dd{margin:0 0 0 24px}"
    "tbody tr:nth-child(even){background:var(--soft)}small{opacity:.75;display:block}.late{color:var(--late)}"
    "th button{all:unset;cursor:pointer;font-weight:600}th button:focus-visible{outline:2px solid var(--mark)}"
    "th[aria-sort=ascending] button::after{content:' \\2191'}th[aria-sort=descending] button::after{content:' \\2193'}"
    "svg{max-width:100%;height:auto;font:12px system-ui,sans-serif;fill:var(--ink)}.grid{stroke:var(--line)}"
    ".range{stroke:var(--mark);stroke-width:1.5;opacity:.6}.point{fill:var(--mark)}.point.late{fill:var(--late)}"
    "@media(max-width:1280px){th,td{padding:6px 7px;font-size:14px}}"
    "@media(max-width:600px){th,td{padding:5px 6px;font-size:13px}}"
    "@media print{body{max-width:none;padding:0}th button::after{content:''!important}}";

// Sorts by the numbers in data-value, as text where there are none; rows without a value stay last.
constexpr const char* kPageScript =
    "document.querySelectorAll('th button').forEach(function(button){button.addEventListener('click',function(){"
    "var head=button.parentNode,table=head.closest('table'),body=table.tBodies[0];"
    "var column=Array.prototype.indexOf.call(head.parentNode.children,head);"
    "var up=head.getAttribute('aria-sort')!=='ascending';"
    "var value=function(row){var cell=row.children[column],v=cell.getAttribute('data-value');"
    "return v===null?cell.textContent:v===''?null:Number(v);};"
    "var rows=Array.prototype.slice.call(body.rows);rows.sort(function(a,b){var x=value(a),y=value(b);"
    "if(x===null||y===null)return(x===null)-(y===null);"
    "var d=typeof x==='number'?x-y:x.localeCompare(y);return up?d:-d;});"
    "table.querySelectorAll('th').forEach(function(th){th.removeAttribute('aria-sort');});"
    "head.setAttribute('aria-sort',up?'ascending':'descending');"
    "rows.forEach(function(row){body.appendChild(row);});});});";

std::string days_of(double seconds) { return format_number(seconds / kSecondsPerDay); }

template <typename Format>
std::string ranged_cell(const std::optional<RangedFigure>& figure, const Format& format) {
  if (!figure) return "<td data-value=''>unknown</td>";
  const std::string range = figure->low == figure->high
                                ? std::string()
                                : fmt::format("<small>{} to {}</small>", format(figure->low), format(figure->high));
  return fmt::format("<td data-value='{}'>{}{}</td>", figure->value, format(figure->value), range);
}

std::string plain_cell(double value, const std::string& text) {
  return fmt::format("<td data-value='{}'>{}</td>", value, text);
}

std::string time_cell(const OptionResult& row) {
  const char* const words = !row.in_time ? "too late" : row.surely_in_time ? "yes" : "maybe";
  return fmt::format("<td class='{}' data-value='{}'>{}</td>", row.in_time ? "" : "late",
                     row.in_time ? (row.surely_in_time ? 0 : 1) : 2, words);
}

std::string table_row(std::size_t place, const OptionResult& row, const Sizing& sizing) {
  const IterationResult& iteration = row.best()->iteration;
  const RangedFigure seconds{
      iteration.iteration_time_s,
      iteration.iteration_time_low_s > 0 ? iteration.iteration_time_low_s : iteration.iteration_time_s,
      std::max(iteration.iteration_time_high_s, iteration.iteration_time_s)};
  const auto time = [](double value) { return format_seconds(value); };
  std::string out = fmt::format("<tr><td data-value='{0}'>{1}{0}</td><td>{2}</td>", place,
                                row.ties_with_first ? "=" : "", escaped(row.option));
  out += plain_cell(row.nodes, fmt::format("{}", row.nodes)) + plain_cell(row.gpus, fmt::format("{}", row.gpus));
  out += ranged_cell(std::optional(seconds), time) + ranged_cell(std::optional(row.finish_s), days_of);
  out += ranged_cell(row.cost_usd, format_usd) +
         ranged_cell(row.facility_j ? row.facility_j : std::optional(row.energy_j), format_watt_hours);
  out +=
      ranged_cell(row.co2_kg, format_kilograms) + plain_cell(row.memory_headroom, format_percent(row.memory_headroom));
  if (sizing.deadline_s > 0) out += time_cell(row);
  if (sizing.finish_by) {
    out += fmt::format("<td>{}<small>{} to be sure</small></td>", date_text(*row.start), date_text(*row.sure_start));
  }
  return out + "</tr>\n";
}

std::string page_table(const ComparisonFile& file, const Comparison& comparison) {
  std::vector<std::string> heads = {"",     "option", "nodes",  "GPUs", "iteration",
                                    "days", "cost",   "energy", "CO2",  "memory free"};
  if (file.sizing.deadline_s > 0) heads.emplace_back("in time");
  if (file.sizing.finish_by) heads.emplace_back("start by");
  std::string out = "<div class='table' tabindex='0' role='region' aria-label='Options'><table><thead><tr>";
  for (const std::string& head : heads) {
    out += fmt::format("<th scope='col'><button type='button'>{}</button></th>", head.empty() ? "#" : head);
  }
  out += "</tr></thead><tbody>\n";
  for (std::size_t i = 0; i < comparison.rows.size(); ++i) {
    if (comparison.rows[i].runs()) out += table_row(i + 1, comparison.rows[i], file.sizing);
  }
  return out + "</tbody></table></div>\n";
}

// The next of 1, 2 and 5 times a power of ten.
double step_for(double range) {
  const double raw = range / kPlotTicks;
  const double power = std::pow(10, std::floor(std::log10(raw)));
  for (const double times : {1.0, 2.0, 5.0}) {
    if (times * power >= raw) return times * power;
  }
  return 10 * power;
}

// Days and dollars from zero.
class CostPlot {
 public:
  explicit CostPlot(const Comparison& comparison) {
    for (std::size_t i = 0; i < comparison.rows.size(); ++i) {
      const OptionResult& row = comparison.rows[i];
      if (!row.runs() || !row.cost_usd) continue;
      points_.push_back({i + 1, &row, row.finish_s.times(1 / kSecondsPerDay), *row.cost_usd});
      most_days_ = std::max(most_days_, points_.back().days.high * 1.05);
      most_usd_ = std::max(most_usd_, points_.back().usd.high * 1.05);
    }
  }

  std::string svg() const {
    if (points_.size() < 2 || most_days_ <= 0 || most_usd_ <= 0) return {};
    std::string out = fmt::format(
        "<h2>Cost over time</h2>\n<svg viewBox='0 0 {0:.0f} {1:.0f}' width='{0:.0f}' height='{1:.0f}' role='img' "
        "aria-label='Cost of each option over the days that it takes; the table has the figures'>\n",
        kPlotLeft + kPlotWidth + 20, kPlotTop + kPlotHeight + 44);
    out += grid();
    for (const Point& point : points_) out += marker(point);
    return out + "</svg>\n";
  }

 private:
  struct Point {
    std::size_t place;
    const OptionResult* row;
    RangedFigure days;
    RangedFigure usd;
  };

  double x(double days) const { return kPlotLeft + kPlotWidth * days / most_days_; }
  double y(double usd) const { return kPlotTop + kPlotHeight * (1 - usd / most_usd_); }

  std::string grid() const {
    std::string out;
    for (double days = 0; days <= most_days_; days += step_for(most_days_)) {
      out += fmt::format(
          "<path class='grid' d='M{0:.1f} {1:.1f}V{2:.1f}'/><text x='{0:.1f}' y='{3:.1f}' "
          "text-anchor='middle'>{4}</text>\n",
          x(days), kPlotTop, kPlotTop + kPlotHeight, kPlotTop + kPlotHeight + 16, format_number(days));
    }
    for (double usd = 0; usd <= most_usd_; usd += step_for(most_usd_)) {
      out += fmt::format(
          "<path class='grid' d='M{0:.1f} {1:.1f}H{2:.1f}'/><text x='{3:.1f}' y='{4:.1f}' "
          "text-anchor='end'>{5}</text>\n",
          kPlotLeft, y(usd), kPlotLeft + kPlotWidth, kPlotLeft - 6, y(usd) + 4, format_usd(usd));
    }
    return out + fmt::format("<text x='{:.0f}' y='{:.0f}' text-anchor='middle'>days</text>\n",
                             kPlotLeft + kPlotWidth / 2, kPlotTop + kPlotHeight + 36);
  }

  std::string marker(const Point& point) const {
    const char* const late = point.row->in_time ? "" : " late";
    return fmt::format(
        "<g><title>{0}: {1} days, {2}</title><path class='range' d='M{3:.1f} {4:.1f}H{5:.1f}M{6:.1f} {7:.1f}V{8:.1f}'/>"
        "<circle class='point{9}' cx='{6:.1f}' cy='{4:.1f}' r='5'/><text x='{10:.1f}' y='{11:.1f}'>{12}"
        "</text></g>\n",
        escaped(point.row->option), format_number(point.days.value), format_usd(point.usd.value), x(point.days.low),
        y(point.usd.value), x(point.days.high), x(point.days.value), y(point.usd.low), y(point.usd.high), late,
        x(point.days.value) + 8, y(point.usd.value) - 7, point.place);
  }

  std::vector<Point> points_;
  double most_days_ = 0;
  double most_usd_ = 0;
};

std::string strategy_list(const Comparison& comparison) {
  std::string out;
  for (std::size_t i = 0; i < comparison.rows.size(); ++i) {
    const OptionResult& row = comparison.rows[i];
    if (!row.runs()) continue;
    out += fmt::format("<dt>{} {}, {} nodes</dt><dd>{}</dd>\n", i + 1, escaped(row.option), row.nodes,
                       escaped(option_strategy(row)));
  }
  return out.empty() ? out : "<h2>Their strategies</h2>\n<dl>\n" + out + "</dl>\n";
}

std::string refused_list(const Comparison& comparison) {
  std::string out;
  for (const OptionResult& row : comparison.rows) {
    if (row.runs()) continue;
    out += fmt::format("<li><b>{}</b>{}: {}</li>\n", escaped(row.option),
                       row.nodes > 0 ? fmt::format(", {} nodes", row.nodes) : "", escaped(reason_text(row)));
  }
  return out.empty() ? out : "<h2>What does not run</h2>\n<ul>\n" + out + "</ul>\n";
}

}  // namespace

std::string comparison_html(const ComparisonFile& file, const Comparison& comparison) {
  std::string out = fmt::format(
      "<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'><meta name='viewport' "
      "content='width=device-width,initial-scale=1'><title>Options compared</title>\n<style>{}</style></head><body>\n"
      "<h1>{}</h1>\n",
      kPageStyle, escaped(comparison_question(file, comparison)));
  for (const OptionResult& row : comparison.rows) {
    if (!row.scenario) continue;
    const Job& job = row.scenario->job;
    out += fmt::format("<p>{}; {} on {} tokens</p>\n", escaped(model_text(job.model)),
                       escaped(sequences_text(job.training)), format_count(job.training.tokens));
    break;
  }
  out += page_table(file, comparison) + CostPlot(comparison).svg() + strategy_list(comparison) +
         refused_list(comparison) + "<h2>Notes</h2>\n<ul>\n";
  for (const std::string& remark : comparison_remarks(comparison)) out += "<li>" + escaped(remark) + "</li>\n";
  return out + fmt::format("</ul>\n<script>{}</script>\n</body></html>\n", kPageScript);
}

}  // namespace mirfak
