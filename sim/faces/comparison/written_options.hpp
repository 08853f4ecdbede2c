#pragma once

#include "comparison/option_results.hpp"

#include <filesystem>

namespace mirfak {

// Writes a scenario for each row that runs, which simulates to the row's figures: "01-NAME.yaml", ... in `folder`, in
// the order of the rows, with the letters and digits of the option's name. All files are written or none; sets
// OptionResult::file. Errors as of StagedFile.
void write_options(const ComparisonFile& file, const std::filesystem::path& folder, Comparison& comparison);

}  // namespace mirfak
