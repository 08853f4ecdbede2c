#pragma once

#include "cli/commands.hpp"

#include <span>
#include <string>
#include <vector>

namespace mirfak {

// Options of `mirfak simulate` for a capture.
struct CaptureOptions {
  std::string capture;
  std::vector<std::string> nodes;      // --nodes
  std::vector<std::string> overrides;  // --set: keys of cluster.nodes and cluster.fabric
  std::string format;
  std::string timeline;
  bool explain = false;
  std::string data;
};

// Executes a capture on nodes, and prints where its time and memory go. Status 3 for a program that does not fit in
// memory. Error(input) for a capture without nodes, and as of read_capture() and captured_program().
CommandOutput simulate_capture(const CaptureOptions& options, const Surroundings& surroundings);

}  // namespace mirfak
