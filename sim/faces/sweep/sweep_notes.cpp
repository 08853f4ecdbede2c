#include "sweep/sweep_notes.hpp"

#include "capture/capture_simulation.hpp"
#include "scenario/assertions.hpp"
#include "scenario/idle_keys.hpp"
#include "scenario/scenario.hpp"
#include "scenario/stated_notes.hpp"
#include "simulation/iteration.hpp"
#include "sweep/point_sources.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

namespace mirfak {

namespace {

constexpr std::size_t kPointsLookedAt = 3;

bool same_figure(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

// True if all figures are equal, except the simulator's own count of events.
bool same_figures(std::span<const double> a, std::span<const double> b) {
  const std::vector<std::string>& keys = point_figure_keys();
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (!same_figure(a[i], b[i]) && keys[i] != "events") return false;
  }
  return true;
}

bool has_figures(PointStatus status) { return status == PointStatus::ok || status == PointStatus::out_of_memory; }

class AxisComparison {
 public:
  explicit AxisComparison(const SweepTable& table) : table_(table), row_of_(table.rows()) {
    for (std::size_t row = 0; row < table.rows(); ++row) row_of_[table.point(row)] = row;
  }

  // True if points that differ only on this axis are compared, and are all alike.
  bool idle(const AxisTable& axis) const {
    bool compared = false;
    for (std::size_t row = 0; row < table_.rows(); ++row) {
      const std::uint64_t point = table_.point(row);
      const std::uint64_t first = point - axis.index_at(point) * axis.repeats;
      if (first == point) continue;
      const std::size_t other = row_of_[first];
      if (table_.status(row) != table_.status(other)) return false;
      if (!has_figures(table_.status(row))) continue;
      if (!same_figures(table_.figures(row), table_.figures(other))) return false;
      compared = true;
    }
    return compared;
  }

 private:
  const SweepTable& table_;
  std::vector<std::size_t> row_of_;  // by the number of the point
};

std::vector<IdleKey> idle_keys_at(const Document& point, const PointSources& sources) {
  if (sources.captures) {
    const CapturedScenario scenario = read_captured_scenario(point, *sources.captures);
    return idle_keys(scenario, *sources.captures, simulate(scenario, *sources.captures).result);
  }
  const ScenarioSources of(sources.folders);
  const Scenario scenario = parse_scenario(point, of);
  return idle_keys(scenario, of, simulate(scenario.job).result);
}

std::vector<std::size_t> rows_to_look_at(const SweepTable& table) {
  std::vector<std::size_t> running;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    if (table.status(row) == PointStatus::ok) running.push_back(row);
  }
  std::vector<std::size_t> rows;
  const std::size_t count = std::min(kPointsLookedAt, running.size());
  for (std::size_t i = 0; i < count; ++i) {
    rows.push_back(running[i * (running.size() - 1) / std::max<std::size_t>(1, count - 1)]);
  }
  return rows;
}

}  // namespace

std::vector<std::string> notes_on_axes(const SweepTable& table) {
  std::vector<std::string> notes;
  if (table.rows() != table.heading.points) return notes;
  const AxisComparison comparison(table);
  for (const AxisTable& axis : table.axes) {
    if (axis.size() < 2 || !comparison.idle(axis)) continue;
    notes.push_back(fmt::format("{}: its {} values give the same figures everywhere", axis.key, axis.size()));
  }
  return notes;
}

std::vector<std::string> notes_on_keys(const SweepFile& sweep, const DataFolders& folders, const SweepTable& table) {
  std::vector<std::string> notes = stated_notes(sweep.base());
  const std::vector<std::size_t> rows = rows_to_look_at(table);
  const PointSources sources(sweep, folders);
  std::vector<std::string> idle_so_far;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::vector<std::string> idle_here;
    for (const IdleKey& idle : idle_keys_at(sweep.document_at(table.point(rows[i])), sources)) {
      if (!sweep.is_in_axis(idle.where)) idle_here.push_back(note_on(idle));
    }
    if (i == 0) idle_so_far = idle_here;
    std::erase_if(idle_so_far, [&](const std::string& note) {
      return std::find(idle_here.begin(), idle_here.end(), note) == idle_here.end();
    });
  }
  for (std::string& note : idle_so_far) {
    if (table.rows() > rows.size()) note += fmt::format(" (looked at in {} of {} points)", rows.size(), table.rows());
  }
  notes.insert(notes.end(), idle_so_far.begin(), idle_so_far.end());
  return notes;
}

std::vector<std::string> notes_on_assertions(const SweepFile& sweep) {
  const Value* const stated = sweep.base().root().find("assert");
  if (stated == nullptr || stated->kind == Value::Kind::null) return {};
  return notes_unchecked(read_assertions(Node(sweep.base(), *stated, "assert")));
}

std::array<std::string, kPointStatuses> first_reasons(const SweepTable& table) {
  std::array<std::size_t, kPointStatuses> first{};
  first.fill(table.rows());
  for (std::size_t row = 0; row < table.rows(); ++row) {
    std::size_t& of = first[static_cast<std::size_t>(table.status(row))];
    if (of == table.rows() || table.point(row) < table.point(of)) of = row;
  }
  std::array<std::string, kPointStatuses> reasons;
  for (std::size_t i = 0; i < kPointStatuses; ++i) {
    if (first[i] == table.rows() || static_cast<PointStatus>(i) == PointStatus::ok) continue;
    reasons[i] = fmt::format("point {}: {}", table.point(first[i]), table.reason(first[i]));
  }
  return reasons;
}

}  // namespace mirfak
