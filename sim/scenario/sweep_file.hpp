#pragma once

#include "base/document.hpp"
#include "base/key_path.hpp"
#include "scenario/axis_values.hpp"

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace mirfak {

// A key of the scenario and what it takes in turn.
struct AxisColumn {
  std::string key;  // "strategy.tensor"
  KeyPath path;
  Location where;  // of the key in the sweep file
  std::vector<Value> values;
  AxisType type{};
};

// Keys that change together: their values are equally many.
struct SweepAxis {
  std::vector<AxisColumn> columns;

  std::uint64_t size() const { return columns.front().values.size(); }
};

// A scenario and the axes that multiply it (README.md: every key). Points are the elements of the product of the axes;
// they are numbered from 0 as an odometer counts, the last axis fastest, and no list of them is ever made.
class SweepFile {
 public:
  // A point for each 32-bit number at most.
  static constexpr std::uint64_t kMaxPoints = std::uint64_t{1} << 32;

  const std::string& name() const { return name_; }
  const Document& base() const { return base_; }  // the scenario, fixed overrides applied
  const std::vector<SweepAxis>& axes() const { return axes_; }
  std::uint64_t points() const { return points_; }

  // For each axis, the index of its value at a point.
  void find_digits(std::uint64_t point, std::vector<std::uint32_t>& digits) const;

  Document document_at(std::uint64_t point) const;  // the scenario with the values of the axes in place

  // The order in which points are best read and simulated: neighbours share as much as they can. Models and clusters
  // change slowest, what only changes the number of microbatches fastest. A permutation of the points.
  std::uint64_t point_at(std::uint64_t position) const;

  // Scenario and axes as YAML, as far as they decide a result: equal for sweeps that are the same.
  std::string definition() const;

  // Whether a value of an axis stands there, or a part of one.
  bool is_in_axis(const Location& where) const;

 private:
  friend SweepFile parse_sweep(const Document& document, std::span<const std::string> overrides);
  explicit SweepFile(Document base) : base_(std::move(base)) {}
  void count_points(const Node& axes);
  void order_axes();

  std::string name_;
  Document base_;
  std::vector<SweepAxis> axes_;
  std::vector<std::size_t> slowest_first_;  // indices of axes_
  std::uint64_t points_ = 1;
  std::set<std::pair<int, int>> value_places_;  // lines and columns
};

// Reads a sweep file strictly. `overrides` are "key=value" texts for the scenario, applied behind those of the file.
// Error(input) at the place that is wrong. Whether keys and values make sense to a scenario shows at the points.
SweepFile parse_sweep(const Document& document, std::span<const std::string> overrides = {});

}  // namespace mirfak
