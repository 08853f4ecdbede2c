#pragma once

#include "base/document.hpp"

#include <string>

namespace mirfak {

// Parses one YAML document (or JSON text) in UTF-8. `name` becomes the file of every location. Throws
// Error(input) at the place of the fault: malformed text, control characters, a duplicate or overlong key, a tag, a
// second document, or more depth, values or expanded text than Document allows. Time and memory are bounded by the
// length of the text and those limits, whatever the text says.
Value parse_yaml(const std::string& text, const std::string& name);
// The same of files of other programs, whose readers take the last of equal keys: all of them stand in the mapping, in
// their order.
Value parse_foreign_yaml(const std::string& text, const std::string& name);

// Text that parse_yaml reads back as an equal value, places apart; words that could be taken for YAML's own signs
// come back quoted.
std::string emit_yaml(const Value& value);

// The same on one line, without a line end.
std::string emit_flow_yaml(const Value& value);

// A YAML string in double quotes, so that no name can be read as anything else.
std::string quoted_yaml(const std::string& text);

// Nesting allowed in a document, overrides included.
inline constexpr std::size_t kMaxDocumentDepth = 64;

// A key in quotes and with its escapes must stay below the 1,024 characters that YAML allows on one line.
inline constexpr std::size_t kMaxKeyBytes = 128;

}  // namespace mirfak
