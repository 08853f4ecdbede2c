#pragma once

#include "capture/captured_scenario.hpp"
#include "scenario/sweep_file.hpp"

#include <optional>
#include <string>

namespace mirfak {

// Sources that all threads of a sweep share.
struct PointSources {
  PointSources(const SweepFile& sweep, const DataFolders& data);

  DataFolders folders;
  Catalog catalog;
  std::optional<CaptureSources> captures;  // of a sweep of captures
};

// True if the points of a sweep are scenarios of captures: its scenario names a capture, or an axis does.
bool is_of_captures(const SweepFile& sweep);

// Returns a hash of the captures that the points name; "" for a sweep of other scenarios. Captures that cannot be read
// do not count: their points say why.
std::string capture_hash(const SweepFile& sweep, const DataFolders& folders);

}  // namespace mirfak
