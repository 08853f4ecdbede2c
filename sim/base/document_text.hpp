#pragma once

#include "base/document.hpp"

#include <filesystem>
#include <string>

namespace mirfak {

// Returns the text of a file that holds a document, or anything equally large, and notes the file as read. Error(input)
// for a folder, a file that cannot be read, and a file of more than 2 MiB.
std::string document_text(const std::filesystem::path& path);

// Returns the words by which a message names a value: "'abc'", "a mapping", ...
std::string described(const Value& value);

}  // namespace mirfak
