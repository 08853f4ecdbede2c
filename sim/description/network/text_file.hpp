#pragma once

#include "base/error.hpp"

#include <filesystem>
#include <string>

namespace mirfak {

// Returns the whole text of a file. If the file cannot be read, Error(input) at `asked_at`, the place that names the
// file.
std::string text_of_file(const std::filesystem::path& path, const Location& asked_at);

}  // namespace mirfak
