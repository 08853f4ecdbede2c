#pragma once

#include "base/csv.hpp"

#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace mirfak {

// A machine that `mirfak-measure` described (machine.csv: columns key, value) as profiles: its cores as GPUs, its
// memory as the link between them, and a node of both.
//
// What the tables give by themselves (the highest rate of products, bandwidths of the largest kernels and messages)
// stands in the profiles, and so do starting values for fits. A core's energy is not known: its watts are nominal.
struct MachineProfiles {
  std::string core;  // text of the profile NAME-core.yaml
  std::string link;  // ... NAME-link.yaml
  std::string node;  // ... NAME.yaml
};

// Error(input) where the description or a table lacks what is needed: products, kernels, and sends of two ranks.
MachineProfiles machine_profiles(const CsvTable& machine, std::span<const CsvTable> tables, const std::string& name);

}  // namespace mirfak
