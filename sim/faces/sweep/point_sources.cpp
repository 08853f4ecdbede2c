#include "sweep/point_sources.hpp"

#include "base/error.hpp"
#include "base/origin.hpp"
#include "sweep/sweep_table.hpp"

#include <algorithm>

namespace mirfak {

namespace {

bool is_of_capture(const std::string& key) { return key == "capture" || key.starts_with("capture."); }

}  // namespace

PointSources::PointSources(const SweepFile& sweep, const DataFolders& data) : folders(data), catalog(data.hardware) {
  if (is_of_captures(sweep)) captures.emplace(ScenarioSources(data));
}

bool is_of_captures(const SweepFile& sweep) {
  return names_capture(sweep.base()) ||
         std::any_of(sweep.axes().begin(), sweep.axes().end(), [](const SweepAxis& axis) {
           return std::any_of(axis.columns.begin(), axis.columns.end(),
                              [](const AxisColumn& column) { return is_of_capture(column.key); });
         });
}

std::string capture_hash(const SweepFile& sweep, const DataFolders& folders) {
  if (!is_of_captures(sweep)) return {};
  const CaptureSources sources{ScenarioSources(folders)};
  std::string hashes;
  const auto add = [&](std::uint64_t point) {
    try {
      hashes += read_captured_scenario(sweep.document_at(point), sources).capture->hash;
    } catch (const Error&) {
      hashes += "-";
    }
  };
  add(0);
  for (const AxisTable& axis : axis_tables(sweep)) {
    if (!is_of_capture(axis.key)) continue;
    for (std::size_t value = 1; value < axis.size(); ++value) add(value * axis.repeats);
  }
  return text_hash(hashes);
}

}  // namespace mirfak
