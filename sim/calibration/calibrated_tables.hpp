#pragma once

#include "calibration/table_columns.hpp"
#include "calibration/table_kind.hpp"

#include <array>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace mirfak {

// What tables say of their hardware.
struct CalibratedTables {
  std::vector<FittedSection> sections;
  std::vector<UnreadColumn> unread;
};

// Fits the constants that the tables determine, and puts them into the profile `out` (profile_update.hpp) unless that
// is empty. Error(input) as of calibrate() and update_profile(); then nothing is written.
CalibratedTables calibrate_tables(std::span<const std::filesystem::path> tables, const CalibrationTarget& target,
                                  const std::filesystem::path& out);

// A machine that becomes a node type of its own.
struct MachineToCalibrate {
  std::filesystem::path description;  // MACHINE.csv (machine_profile.hpp)
  std::string name;                   // of the node type
  std::filesystem::path folder;       // for its profiles; made if it is not there
};

// The profiles of its core, its link and its node, in the folder.
std::array<std::filesystem::path, 3> profiles_of(const MachineToCalibrate& machine);

// Makes them of the tables: all three or none. Of `target` only the catalog, the filters and the source count.
// Error(input) as above, and for a name that cannot be that of a file.
CalibratedTables calibrate_machine(const MachineToCalibrate& machine, std::span<const std::filesystem::path> tables,
                                   const CalibrationTarget& target);

}  // namespace mirfak
