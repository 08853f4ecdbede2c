#pragma once

#include "cluster/hardware.hpp"

#include <array>
#include <optional>

namespace mirfak {

// Rate of the disks of a node: its key in a node's profile and under cluster.nodes[], and its figure, in bytes/s.
struct DiskRate {
  const char* key = "";
  std::optional<Figure> NodeSpec::*figure = nullptr;
};
inline constexpr std::array<DiskRate, 2> kDiskRates = {{
    {"disk_read_bandwidth", &NodeSpec::disk_read_bandwidth},
    {"disk_write_bandwidth", &NodeSpec::disk_write_bandwidth},
}};
inline constexpr double kLeastDiskRate = 1e6;
inline constexpr double kLargestDiskRate = 1e13;

}  // namespace mirfak
