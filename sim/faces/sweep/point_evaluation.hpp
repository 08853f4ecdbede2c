#pragma once

#include "scenario/point_reader.hpp"
#include "simulation/evaluator.hpp"
#include "sweep/point_sources.hpp"
#include "sweep/sweep_table.hpp"

#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// The result of one point.
struct PointResult {
  PointStatus status{};
  std::string reason;           // empty: ok
  std::vector<double> figures;  // point_figure_keys(); empty if nothing was simulated
  ResolvedSections resolved;    // empty if the scenario could not be read
};

// Throws the error of a point that cannot be read (PointStatus::input), at its place.
[[noreturn]] void fail_as_read(const SweepFile& sweep, const DataFolders& folders, std::uint64_t point,
                               std::string_view reason);

// Simulates points of a sweep, one after the other. Not thread-safe.
class PointEvaluation {
 public:
  // References must outlive the evaluation.
  PointEvaluation(const SweepFile& sweep, const PointSources& sources);

  // Simulates a point. The result is valid until the next point. A point that cannot run is a result too. Error(input)
  // for a fault of the sweep file or its scenario that does not depend on an axis value: it would recur at every point.
  const PointResult& at(std::uint64_t point);

 private:
  void simulate_point(std::uint64_t point);
  void simulate_capture(std::uint64_t point);
  void take(const Error& error);
  Evaluator& evaluator();

  struct OfSetting {
    std::uint64_t setting = 0;
    Evaluator evaluator;
  };

  const SweepFile& sweep_;
  const PointSources& sources_;
  std::optional<PointReader> reader_;  // absent: the points are of captures
  std::string resolved_;               // of the last point of a capture
  std::list<OfSetting> evaluators_;    // the last used evaluator first
  PointResult result_;
};

}  // namespace mirfak
