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

// A key of the scenario and the values that it takes in turn.
struct AxisColumn {
  std::string key;  // "strategy.tensor"
  KeyPath path;
  Location where;  // place of the key in the sweep file
  std::vector<Value> values;
  AxisType type{};
};

// Keys that change together: all have equally many values.
struct SweepAxis {
  std::vector<AxisColumn> columns;

  std::uint64_t size() const { return columns.front().values.size(); }
};

// A scenario and the axes that multiply it (README.md: every key). Points are the elements of the product of the axes;
// they are numbered from 0 as an odometer counts, the last axis fastest, and never stored in a list.
class SweepFile {
 public:
  // At most one point for each 32-bit number.
  static constexpr std::uint64_t kMaxPoints = std::uint64_t{1} << 32;

  const std::string& name() const { return name_; }
  const Document& base() const { return base_; }  // the scenario, fixed overrides applied
  const std::vector<SweepAxis>& axes() const { return axes_; }
  std::uint64_t points() const { return points_; }

  // Returns in `digits`, for each axis, the index of its value at a point.
  void find_digits(std::uint64_t point, std::vector<std::uint32_t>& digits) const;

  Document document_at(std::uint64_t point) const;  // the scenario with the axes' values at a point

  // Returns the point at a position of the order in which points are best read and simulated: neighbours share as much
  // work as possible. Models and clusters change slowest; axes that change only the number of microbatches change
  // fastest. A permutation of the points.
  std::uint64_t point_at(std::uint64_t position) const;

  // Returns scenario and axes as YAML, as far as they decide a result: equal for equal sweeps.
  std::string definition() const;

  // True if a value of an axis, or a part of a value, stands at this place.
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

// Reads a sweep file strictly. `overrides` are "key=value" texts for the scenario, applied after the keys in `set` of
// the file. Error(input) at the place of the fault. Keys and values that make no sense in a scenario are found only
// when points are read.
SweepFile parse_sweep(const Document& document, std::span<const std::string> overrides = {});

}  // namespace mirfak
