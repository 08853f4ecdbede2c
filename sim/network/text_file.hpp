#pragma once

#include "base/error.hpp"

#include <filesystem>
#include <string>

namespace mirfak {

// All of a file. Error(input) at `asked_at`, what names it, where it cannot be read.
std::string text_of_file(const std::filesystem::path& path, const Location& asked_at);

}  // namespace mirfak
