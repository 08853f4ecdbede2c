#pragma once

#include "base/staged_file.hpp"
#include "calibration/table_kind.hpp"

#include <filesystem>
#include <vector>

namespace mirfak {

// Puts fitted sections into the profile at `path`; if there is no file, into a copy of the profile that the target
// names. Either a profile that predictions can read is written, or nothing. Error(input): constants that the profile's
// reader refuses, with its reason; sections of a GPU and of a link, which belong into two profiles; a fit that does not
// describe its tables (is_doubtful).
void update_profile(const std::filesystem::path& path, const std::vector<FittedSection>& sections,
                    const CalibrationTarget& target);

// Reads a profile as predictions will. Error(input) with the reader's reason, at its place in the file's target.
void check_profile(const StagedFile& file, ProfileKind kind, const Catalog& catalog);

}  // namespace mirfak
