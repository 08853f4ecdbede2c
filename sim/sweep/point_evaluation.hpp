#pragma once

#include "scenario/point_reader.hpp"
#include "simulation/evaluator.hpp"
#include "sweep/sweep_table.hpp"

#include <list>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// What became of one point.
struct PointResult {
  PointStatus status{};
  std::string reason;           // empty: ok
  std::vector<double> figures;  // point_figure_keys(); empty where nothing was simulated
  ResolvedSections resolved;    // empty where the scenario could not be read
};

// What became of a point that cannot be read (PointStatus::input), as an error at its place.
[[noreturn]] void fail_as_read(const SweepFile& sweep, const DataFolders& folders, std::uint64_t point,
                               std::string_view reason);

// Simulates points of a sweep, one after the other. For one thread.
class PointEvaluation {
 public:
  PointEvaluation(const SweepFile& sweep, const Catalog& catalog, const DataFolders& folders)
      : sweep_(sweep), reader_(sweep, catalog, folders) {}

  // The result stays until the next point. A point that cannot run is a result. Error(input) for a fault of the sweep
  // file or its scenario that no value of an axis has to answer for: it would come again at every point.
  const PointResult& at(std::uint64_t point);

 private:
  void simulate_point(std::uint64_t point);
  void take(const Error& error);
  Evaluator& evaluator();

  struct OfSetting {
    std::uint64_t setting = 0;
    Evaluator evaluator;
  };

  const SweepFile& sweep_;
  PointReader reader_;
  std::list<OfSetting> evaluators_;  // the last used first
  PointResult result_;
};

}  // namespace mirfak
