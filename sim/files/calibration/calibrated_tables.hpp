#pragma once

#include "calibration/table_columns.hpp"
#include "calibration/table_kind.hpp"

#include <array>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace mirfak {

// The sections fitted to tables, and the tables' columns that were not read.
struct CalibratedTables {
  std::vector<FittedSection> sections;
  std::vector<UnreadColumn> unread;
};

// Fits the constants that the tables determine, and puts them into the profile `out` (profile_update.hpp) unless `out`
// is empty. Error(input) as of calibrate() and update_profile(); nothing is written in that case.
CalibratedTables calibrate_tables(std::span<const std::filesystem::path> tables, const CalibrationTarget& target,
                                  const std::filesystem::path& out);

// A machine that becomes a node type of its own.
struct MachineToCalibrate {
  std::filesystem::path description;  // MACHINE.csv (machine_profile.hpp)
  std::string name;                   // name of the node type
  std::filesystem::path folder;       // folder for its profiles; created if it does not exist
};

// Returns the paths of the profiles of the machine's core, link and node, in its folder.
std::array<std::filesystem::path, 3> profiles_of(const MachineToCalibrate& machine);

// Makes the machine's three profiles from the tables: all or none. Only the catalog, the filters and the source of
// `target` are used. Error(input) as above, and for a name that cannot be the name of a file.
CalibratedTables calibrate_machine(const MachineToCalibrate& machine, std::span<const std::filesystem::path> tables,
                                   const CalibrationTarget& target);

}  // namespace mirfak
