#pragma once

#include "calibration/calibration.hpp"
#include "cli/commands.hpp"
#include "cli/options.hpp"

#include <string>
#include <vector>

namespace mirfak {

// What `mirfak calibrate --runs` is given.
struct RunsToCalibrate {
  std::string table;
  std::string map;     // "": none of its own
  std::string out;     // "": nothing is written
  std::string source;  // what to call the table in the profile; "": its file's name
  std::string data;
  std::vector<RowFilter> filters;  // only rows that fit all
};

// Corrects a node type by measured runs, tells how well, and writes its profile.
CommandOutput correct_by_runs(const RunsToCalibrate& given, OutputFormat format);

}  // namespace mirfak
