#include "cli/sweep_points.hpp"

#include "base/section.hpp"
#include "base/units.hpp"
#include "simulation/figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace mirfak {

namespace {

std::string value_text(const AxisTable& axis, std::size_t index) {
  switch (axis.type) {
    case AxisType::integer:
      return std::to_string(axis.integers[index]);
    case AxisType::number:
      return fmt::format("{}", axis.numbers[index]);
    case AxisType::boolean:
      return axis.booleans[index] != 0 ? "true" : "false";
    case AxisType::text:
      break;
  }
  return axis.texts[index];
}

// Returns "tensor" for strategy.tensor: users know the sections.
std::string short_key(const std::string& key) { return key.substr(key.find('.') + 1); }

constexpr std::string_view kFigures[] = {"iteration_time_s", "iteration_time_low_s",    "iteration_time_high_s",
                                         "tflops_per_gpu",   "hardware_tflops_per_gpu", "memory_peak_bytes"};

// Returns the figure's number in a row; NaN: not known.
double figure_of_row(const SweepTable& table, std::size_t row, std::string_view key) {
  const std::vector<std::string>& keys = point_figure_keys();
  return table.figures(row)[static_cast<std::size_t>(std::find(keys.begin(), keys.end(), key) - keys.begin())];
}

// Returns the figures that some point has; all of them, if no point has any.
std::vector<std::string_view> known_figures(const SweepTable& table) {
  std::vector<std::string_view> out;
  for (const std::string_view key : kFigures) {
    for (std::size_t row = 0; row < table.rows(); ++row) {
      if (std::isnan(figure_of_row(table, row, key))) continue;
      out.push_back(key);
      break;
    }
  }
  return out.empty() ? std::vector<std::string_view>(std::begin(kFigures), std::end(kFigures)) : out;
}

std::vector<Cell> point_cells(const SweepTable& table, std::size_t row, const std::vector<std::string_view>& figures) {
  std::vector<Cell> cells;
  for (const AxisTable& axis : table.axes) cells.emplace_back(value_text(axis, axis.index_at(table.point(row))));
  for (const std::string_view key : figures) {
    const double number = figure_of_row(table, row, key);
    cells.push_back(std::isnan(number) ? words("-") : Cell(number, unit_of_key(key)));
  }
  cells.emplace_back(table.status(row) == PointStatus::ok ? "" : name_of(table.status(row)));
  return cells;
}

}  // namespace

std::string points_text(const SweepTable& table) {
  Table out;
  for (const AxisTable& axis : table.axes) out.add_column(short_key(axis.key));
  const std::vector<std::string_view> figures = known_figures(table);
  for (const std::string_view key : figures) out.add_column(iteration_figure(key).label);
  out.add_column("", false);
  std::vector<std::size_t> rows(table.rows());
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = i;
  std::sort(rows.begin(), rows.end(), [&](std::size_t a, std::size_t b) { return table.point(a) < table.point(b); });
  for (const std::size_t row : rows) out.add(point_cells(table, row, figures));
  return "\n" + out.text();
}

}  // namespace mirfak
