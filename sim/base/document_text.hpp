#pragma once

#include "base/document.hpp"

#include <filesystem>
#include <string>

namespace mirfak {

// The text of a file that a document, or anything as large as one, is made of; noted as read. Error(input) for a
// folder, a file that cannot be read, and one of more than 2 MiB.
std::string document_text(const std::filesystem::path& path);

// What a message calls a value: "'abc'", "a mapping", ...
std::string described(const Value& value);

}  // namespace mirfak
