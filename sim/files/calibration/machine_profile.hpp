#pragma once

#include "base/csv.hpp"

#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace mirfak {

// Profiles of a machine that `mirfak-measure` described (machine.csv: columns key, value): its cores as GPUs, its
// memory as the link between them, and a node of both.
//
// The profiles hold the values that the tables give directly (the highest rate of products, bandwidths of the largest
// kernels and messages), and starting values for fits. A core's energy is not known: its watts are nominal.
struct MachineProfiles {
  std::string core;  // text of the profile NAME-core.yaml
  std::string link;  // text of the profile NAME-link.yaml
  std::string node;  // text of the profile NAME.yaml
};

// Error(input) if the description or a table lacks data that is needed: products, kernels, and sends of two ranks.
MachineProfiles machine_profiles(const CsvTable& machine, std::span<const CsvTable> tables, const std::string& name);

}  // namespace mirfak
