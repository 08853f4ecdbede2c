#include "scenario/sweep_file.hpp"

#include "base/text.hpp"
#include "base/values.hpp"
#include "base/yaml.hpp"
#include "scenario/named_scenario.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace mirfak {

namespace {

// Bounds the definition: a table holds its sweep's definition, and a merge reads it back as a document of at most 2
// MiB.
constexpr std::size_t kMaxDefinitionBytes = std::size_t{1} << 20;

AxisColumn read_column(const Node& axis, const Value::Field& field) {
  AxisColumn column{field.key, KeyPath(field.key, field.value.key_where), field.value.key_where, {}, {}};
  column.values = read_axis_values(axis.child(field.value, field.key));
  column.type = axis_type(column.values);
  return column;
}

std::vector<AxisColumn> read_columns(const Node& node) {
  if (!node.is_mapping() || node.value().fields.empty()) {
    node.fail("expected keys of the scenario with their values, found " + node.described(),
              "such as {strategy.tensor: [1, 2, 4, 8]}");
  }
  std::vector<AxisColumn> columns;
  for (const Value::Field& field : node.value().fields) columns.push_back(read_column(node, field));
  return columns;
}

void check_equally_long(const std::vector<AxisColumn>& columns) {
  const AxisColumn& first = columns.front();
  for (const AxisColumn& column : columns) {
    if (column.values.size() == first.values.size()) continue;
    fail_input(column.where,
               fmt::format("zip: '{}' has {} values and '{}' has {}", excerpt(first.key), first.values.size(),
                           excerpt(column.key), column.values.size()),
               "keys of one zip change together: give each as many values");
  }
}

void read_axis(const Node& node, std::vector<SweepAxis>& axes) {
  Mapping in(node);
  const std::optional<Node> grid = in.find("grid");
  const std::optional<Node> zip = in.find("zip");
  in.finish();
  if (grid.has_value() == zip.has_value()) node.fail("expected an axis: either 'grid' or 'zip' with keys and values");
  std::vector<AxisColumn> columns = read_columns(grid ? *grid : *zip);
  if (zip) {
    check_equally_long(columns);
    axes.push_back({std::move(columns)});
    return;
  }
  for (AxisColumn& column : columns) axes.push_back({{std::move(column)}});
}

// If one of two keys lies inside the other, the outer key must come first, or it would undo the inner key.
void check_keys(const std::vector<SweepAxis>& axes) {
  std::vector<const AxisColumn*> before;
  for (const SweepAxis& axis : axes) {
    for (const AxisColumn& column : axis.columns) {
      for (const AxisColumn* other : before) {
        if (!column.path.contains(other->path)) continue;
        const bool same = other->path.contains(column.path);
        fail_input(
            column.where,
            same ? fmt::format("the key '{}' has values already, in line {}", excerpt(column.key), other->where.line)
                 : fmt::format("'{}' replaces '{}', which comes before it", excerpt(column.key), excerpt(other->key)),
            same ? "name each key once" : "list the outer key before the inner one");
      }
      before.push_back(&column);
    }
  }
}

void add_places(const Value& value, std::set<std::pair<int, int>>& places) {
  places.emplace(value.where.line, value.where.column);
  for (const Value& item : value.items) add_places(item, places);
  for (const Value::Field& field : value.fields) {
    places.emplace(field.value.key_where.line, field.value.key_where.column);
    add_places(field.value, places);
  }
}

// Returns 0 for a model or a cluster, read from files; 2 if only the number of microbatches or of iterations changes;
// else 1.
int haste(const SweepAxis& axis) {
  int haste = 2;
  for (const AxisColumn& column : axis.columns) {
    const std::string& section = column.path.steps().front().key;
    const bool batch = column.key == "training.global_batch" || column.key == "training.tokens";
    const bool slow = section != "training" && section != "strategy";
    haste = std::min(haste, slow ? 0 : batch ? 2 : 1);
  }
  return haste;
}

}  // namespace

void SweepFile::count_points(const Node& axes) {
  for (const SweepAxis& axis : axes_) {
    if (points_ > kMaxPoints / axis.size()) {
      axes.fail("the axes make more than 2^32 points", "fewer values, or several sweeps");
    }
    points_ *= axis.size();
  }
}

void SweepFile::order_axes() {
  slowest_first_.resize(axes_.size());
  std::iota(slowest_first_.begin(), slowest_first_.end(), std::size_t{0});
  std::stable_sort(slowest_first_.begin(), slowest_first_.end(),
                   [&](std::size_t a, std::size_t b) { return haste(axes_[a]) < haste(axes_[b]); });
}

void SweepFile::find_digits(std::uint64_t point, std::vector<std::uint32_t>& digits) const {
  digits.resize(axes_.size());
  for (std::size_t i = axes_.size(); i-- > 0;) {
    digits[i] = static_cast<std::uint32_t>(point % axes_[i].size());
    point /= axes_[i].size();
  }
}

Document SweepFile::document_at(std::uint64_t point) const {
  std::vector<std::uint32_t> digits;
  find_digits(point, digits);
  Document document = base_;
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    for (const AxisColumn& column : axes_[i].columns) {
      document.assign(column.path, column.values[digits[i]], column.where);
    }
  }
  return document;
}

std::uint64_t SweepFile::point_at(std::uint64_t position) const {
  std::vector<std::uint64_t> digits(axes_.size());
  for (std::size_t i = axes_.size(); i-- > 0;) {
    const std::size_t axis = slowest_first_[i];
    digits[axis] = position % axes_[axis].size();
    position /= axes_[axis].size();
  }
  std::uint64_t point = 0;
  for (std::size_t i = 0; i < axes_.size(); ++i) point = point * axes_[i].size() + digits[i];
  return point;
}

std::string SweepFile::definition() const {
  Value axes = list_value();
  for (const SweepAxis& axis : axes_) {
    Value keys = mapping_value();
    for (const AxisColumn& column : axis.columns) keys.fields.push_back({column.key, list_value(column.values)});
    axes.items.push_back(mapping_value({{"zip", std::move(keys)}}));
  }
  return emit_flow_yaml(mapping_value({{"scenario", base_.root()}, {"axes", std::move(axes)}})) + "\n";
}

bool SweepFile::is_in_axis(const Location& where) const {
  return where.file == name_ && value_places_.contains({where.line, where.column});
}

SweepFile parse_sweep(const Document& document, std::span<const std::string> overrides) {
  Mapping in{Node(document)};
  const Node scenario = in.require("scenario");
  const std::optional<Node> set = in.find("set");
  const Node axes = in.require("axes");
  in.finish();
  SweepFile sweep(scenario_named_by(document, scenario));
  sweep.name_ = document.name();
  if (set) set_keys(sweep.base_, *set);
  for (const std::string& assignment : overrides) sweep.base_.override_value(assignment);
  const std::vector<Node> items = axes.as_items();
  if (items.empty()) axes.fail("expected at least one axis", "such as - grid: {strategy.tensor: [1, 2, 4, 8]}");
  for (const Node& item : items) read_axis(item, sweep.axes_);
  check_keys(sweep.axes_);
  sweep.count_points(axes);
  if (sweep.definition().size() > kMaxDefinitionBytes) {
    axes.fail("the scenario and the values of all axes are more than 1 MiB of text", "fewer values, or several sweeps");
  }
  sweep.order_axes();
  for (const SweepAxis& axis : sweep.axes_) {
    for (const AxisColumn& column : axis.columns) {
      for (const Value& value : column.values) add_places(value, sweep.value_places_);
    }
  }
  return sweep;
}

}  // namespace mirfak
