#include "sweep/sweep_table.hpp"

#include "capture/capture_figures.hpp"
#include "simulation/figures.hpp"

#include <algorithm>
#include <array>

namespace mirfak {

namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

std::vector<std::string> figure_keys() {
  std::vector<std::string> keys;
  for (const IterationFigure& figure : iteration_figures()) {
    if (figure.stored) keys.push_back(figure.key);
  }
  for (std::size_t i = 0; i < kActivities; ++i) {
    keys.push_back(std::string(key_of(static_cast<Activity>(i))) + "_s");
  }
  keys.emplace_back("fullest_stage");
  for (const MemoryPart& part : memory_parts()) keys.push_back(std::string(part.name) + "_bytes");
  return keys;
}

AxisTable axis_table(const AxisColumn& column) {
  AxisTable table{column.key, column.type, {}, {}, {}, {}, 1};
  for (const Value& value : column.values) {
    switch (column.type) {
      case AxisType::integer:
        table.integers.push_back(integer_of(value));
        break;
      case AxisType::number:
        table.numbers.push_back(number_of(value));
        break;
      case AxisType::boolean:
        table.booleans.push_back(boolean_of(value) ? 1 : 0);
        break;
      case AxisType::text:
        table.texts.push_back(text_of(value));
        break;
    }
  }
  return table;
}

}  // namespace

std::string_view name_of(PointStatus status) {
  static constexpr std::array<std::string_view, kPointStatuses> names = {"ok", "out-of-memory", "infeasible", "input",
                                                                         "internal"};
  return names[static_cast<std::size_t>(status)];
}

const std::vector<std::string>& point_figure_keys() {
  static const std::vector<std::string> keys = figure_keys();
  return keys;
}

void append_figures(const IterationResult& result, std::vector<double>& figures) {
  for (const FigureValue& value : stored_values(result)) figures.push_back(value.known ? value.number : kUnknown);
  figures.insert(figures.end(), result.activity_s.begin(), result.activity_s.end());
  figures.push_back(result.fullest_stage);
  const MemoryUse& peak = result.stages[static_cast<std::size_t>(result.fullest_stage)].memory.peak;
  for (const MemoryPart& part : memory_parts()) figures.push_back(peak.*part.bytes);
}

void append_figures(const CaptureResult& result, const Facility& facility, std::vector<double>& figures) {
  const std::vector<FigureValue> values = figure_values(result, facility);
  for (const std::string& key : point_figure_keys()) {
    const auto of =
        std::find_if(values.begin(), values.end(), [&](const FigureValue& value) { return value.key() == key; });
    figures.push_back(of != values.end() && of->known ? of->number : kUnknown);
  }
}

std::size_t AxisTable::size() const {
  return std::max({integers.size(), numbers.size(), booleans.size(), texts.size()});
}

std::vector<AxisTable> axis_tables(const SweepFile& sweep) {
  std::vector<AxisTable> tables;
  std::uint64_t repeats = sweep.points();
  for (const SweepAxis& axis : sweep.axes()) {
    repeats /= axis.size();
    for (const AxisColumn& column : axis.columns) {
      tables.push_back(axis_table(column));
      tables.back().repeats = repeats;
    }
  }
  return tables;
}

void SweepTable::reserve(std::size_t rows) {
  point_.reserve(rows);
  status_.reserve(rows);
  reason_.reserve(rows);
  resolved_.reserve(rows);
  figures_.reserve(rows * point_figure_keys().size());
}

std::uint32_t SweepTable::code(std::string_view text) {
  const auto [found, added] = codes_.try_emplace(std::string(text), static_cast<std::uint32_t>(texts_.size()));
  if (added) texts_.emplace_back(text);
  return found->second;
}

void SweepTable::append(std::uint32_t point, PointStatus status, std::string_view reason,
                        std::span<const double> figures, const ResolvedSections& resolved) {
  point_.push_back(point);
  status_.push_back(status);
  reason_.push_back(code(reason));
  if (figures.empty()) {
    figures_.insert(figures_.end(), point_figure_keys().size(), kUnknown);
  } else {
    figures_.insert(figures_.end(), figures.begin(), figures.end());
  }
  std::array<std::uint32_t, 3> codes{};
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const bool as_before = !resolved_.empty() && texts_[resolved_.back()[i]] == resolved[i];
    codes[i] = as_before ? resolved_.back()[i] : code(resolved[i]);
  }
  resolved_.push_back(codes);
}

void SweepTable::append(const SweepTable& other) {
  for (std::size_t row = 0; row < other.rows(); ++row) {
    ResolvedSections resolved;
    for (std::size_t i = 0; i < resolved.size(); ++i) resolved[i] = other.texts_[other.resolved_[row][i]];
    append(other.point(row), other.status(row), other.reason(row), other.figures(row), resolved);
  }
}

std::span<const double> SweepTable::figures(std::size_t row) const {
  const std::size_t width = point_figure_keys().size();
  return {figures_.data() + row * width, width};
}

std::size_t SweepTable::count(PointStatus status) const {
  return static_cast<std::size_t>(std::count(status_.begin(), status_.end(), status));
}

}  // namespace mirfak
