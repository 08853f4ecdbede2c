#pragma once

#include "cli/commands.hpp"
#include "cli/options.hpp"

#include <string>

namespace mirfak {

// What `mirfak calibrate --trace` is given.
struct TraceToCalibrate {
  std::string trace;      // a file, or a folder of ranks
  std::string scenario;   // what was recorded; "": nothing is fitted
  std::string out;        // the node type's profile; "": not written
  std::string framework;  // the framework's file; "": not written
  std::string data;
};

// Tells what a profiler recorded. With a scenario, corrects its node type and framework by the recorded steps, tells
// how well, and writes them.
CommandOutput calibrate_by_trace(const TraceToCalibrate& given, OutputFormat format);

}  // namespace mirfak
