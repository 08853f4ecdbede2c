#pragma once

#include "capture/capture_result.hpp"
#include "scenario/point_reader.hpp"
#include "scenario/sweep_file.hpp"
#include "simulation/iteration.hpp"

#include <array>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace mirfak {

// The outcome of a point of a sweep. A reason is given for every status except `ok`.
enum class PointStatus : std::uint8_t {
  ok,
  out_of_memory,  // simulated nevertheless: its figures are known
  infeasible,     // a strategy that breaks a rule
  input,          // values that cannot be understood
  internal,       // a defect of mirfak
};
inline constexpr std::size_t kPointStatuses = 5;
std::string_view name_of(PointStatus status);

// Returns the keys of a point's figures, each of which is a column of the table: those of JSON from iteration_time_s to
// events, activities, and the memory of the fullest stage by its parts.
const std::vector<std::string>& point_figure_keys();
// Appends the figures in the order of the keys; NaN for unknown figures.
void append_figures(const IterationResult& result, std::vector<double>& figures);
// Appends the figures of a capture; figures that need a model or a strategy are unknown.
void append_figures(const CaptureResult& result, const Facility& facility, std::vector<double>& figures);

// The sweep that a table belongs to, and its part of the sweep. Tables whose headings differ only in the shard belong
// together.
struct SweepHeading {
  std::string definition;  // SweepFile::definition()
  std::string data;        // hash of the models and hardware of the simulation
  std::string program;     // version of mirfak
  std::uint64_t points = 0;
  int shard = 1;  // index of the shard, from 1 to `shards`
  int shards = 1;

  bool same_sweep(const SweepHeading& other) const {
    return definition == other.definition && data == other.data && program == other.program && points == other.points;
  }
};

// The value of each axis key at any point, in the types of columns: texts by their index in a table of texts.
struct AxisTable {
  std::string key;
  AxisType type{};
  std::vector<std::int64_t> integers;  // by the index of the value, AxisType::integer
  std::vector<double> numbers;         // AxisType::number
  std::vector<std::uint8_t> booleans;  // AxisType::boolean
  std::vector<std::string> texts;      // AxisType::text
  std::uint64_t repeats = 1;           // number of consecutive points with the same value

  std::size_t size() const;
  std::size_t index_at(std::uint64_t point) const { return static_cast<std::size_t>(point / repeats % size()); }
};
std::vector<AxisTable> axis_tables(const SweepFile& sweep);

// The rows of a sweep in memory, in any order; about 600 bytes each.
class SweepTable {
 public:
  SweepHeading heading;
  std::vector<AxisTable> axes;

  std::size_t rows() const { return point_.size(); }
  void reserve(std::size_t rows);
  // Appends a row. `figures`: one for each key, or none if nothing was simulated. `resolved`: empty if the scenario
  // could not be read.
  void append(std::uint32_t point, PointStatus status, std::string_view reason, std::span<const double> figures,
              const ResolvedSections& resolved);
  void append(const SweepTable& other);  // appends the rows of another table

  std::uint32_t point(std::size_t row) const { return point_[row]; }
  PointStatus status(std::size_t row) const { return status_[row]; }
  std::string_view reason(std::size_t row) const { return texts_[reason_[row]]; }
  std::span<const double> figures(std::size_t row) const;
  // Returns the row's scenario: indices of its sections in texts().
  const std::array<std::uint32_t, 3>& resolved(std::size_t row) const { return resolved_[row]; }
  const std::vector<std::string>& texts() const { return texts_; }
  std::size_t count(PointStatus status) const;

 private:
  std::uint32_t code(std::string_view text);

  std::vector<std::uint32_t> point_;
  std::vector<PointStatus> status_;
  std::vector<std::uint32_t> reason_;                   // index in texts_
  std::vector<double> figures_;                         // one row after another
  std::vector<std::array<std::uint32_t, 3>> resolved_;  // indices in texts_
  std::vector<std::string> texts_;
  std::unordered_map<std::string, std::uint32_t> codes_;
};

}  // namespace mirfak
