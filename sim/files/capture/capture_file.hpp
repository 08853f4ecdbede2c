#pragma once

#include "capture/capture.hpp"

#include <filesystem>
#include <string>
#include <string_view>

namespace mirfak {

// True if a file begins as a capture does, plain or compressed by gzip, whatever its name. False for a file that
// cannot be read.
bool is_capture(const std::filesystem::path& path);

// Reads a capture. Error(input) with file and line for a file that is no capture, is cut off, edited (its last line has
// the CRC-32 of the others), of another version, has a field of another kind or an index outside its table.
Capture read_capture(const std::filesystem::path& path);
// Reads the text of a capture that is not compressed; `name` stands in errors.
Capture read_capture_text(std::string_view text, const std::string& name);

}  // namespace mirfak
