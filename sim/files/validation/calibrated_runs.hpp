#pragma once

#include "calibration/table_kind.hpp"
#include "validation/own_runs.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace mirfak {

// A table of iterations that were measured on the user's own machine.
struct RunsToCalibrate {
  std::filesystem::path table;
  std::filesystem::path map;       // mapping of its columns (RunMappings::own); empty: by the columns' names
  std::filesystem::path out;       // the corrected node type's profile; empty: nothing is written
  std::string source;              // name of the table in the profile; "": its file's name
  std::vector<RowFilter> filters;  // only rows that match all filters
};

struct CalibratedRuns {
  std::vector<ValidatedRun> runs;  // runs of the rows that count
  OwnRunsFit fit;
};

// Corrects a node type by measured runs, and writes its profile. `data`: the folder of models, hardware and the
// vocabulary of runs. Error(input) as of validate_runs() and fit_own_runs(), and for filters that no row matches; then
// nothing is written.
CalibratedRuns calibrate_by_runs(const RunsToCalibrate& given, const std::filesystem::path& data);

}  // namespace mirfak
