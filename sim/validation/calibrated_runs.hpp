#pragma once

#include "calibration/table_kind.hpp"
#include "validation/own_runs.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace mirfak {

// A table of iterations that were measured on a machine of one's own.
struct RunsToCalibrate {
  std::filesystem::path table;
  std::filesystem::path map;       // how it is read (RunMappings::own); empty: as its columns say
  std::filesystem::path out;       // the corrected node type's profile; empty: nothing is written
  std::string source;              // what to call the table in the profile; "": its file's name
  std::vector<RowFilter> filters;  // only rows that fit all
};

struct CalibratedRuns {
  std::vector<ValidatedRun> runs;  // of the rows that count
  OwnRunsFit fit;
};

// Corrects a node type by measured runs, and writes its profile. `data`: the folder of models, hardware and the
// vocabulary of runs. Error(input) as of validate_runs() and fit_own_runs(), and for filters that no row fits; then
// nothing is written.
CalibratedRuns calibrate_by_runs(const RunsToCalibrate& given, const std::filesystem::path& data);

}  // namespace mirfak
