#pragma once

#include "base/staged_file.hpp"
#include "calibration/table_kind.hpp"

#include <filesystem>
#include <vector>

namespace mirfak {

// Puts fitted sections into the profile at `path`; where there is no file, into a copy of the profile that the target
// names. What is written is a profile that predictions can read, or nothing is. Error(input): constants that the
// profile's reader refuses, with its reason; sections of a GPU and of a link, which are two profiles; a fit that does
// not describe its tables (is_doubtful).
void update_profile(const std::filesystem::path& path, const std::vector<FittedSection>& sections,
                    const CalibrationTarget& target);

// Reads a profile as predictions will. Error(input) with the reader's reason, at its place in the file's target.
void check_profile(const StagedFile& file, ProfileKind kind, const Catalog& catalog);

}  // namespace mirfak
