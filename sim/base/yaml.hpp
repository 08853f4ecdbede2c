#pragma once

#include "base/document.hpp"

#include <string>

namespace mirfak {

// Parses one YAML document (or JSON text) in UTF-8. `name` becomes the file of every location. Throws Error(input) at
// the place of the fault: malformed text, control characters, a duplicate or overlong key, a tag, a second document, or
// more depth, values or expanded text than Document allows. Time and memory are bounded by the length of the text and
// those limits, whatever the text contains.
Value parse_yaml(const std::string& text, const std::string& name);
// Parses a file of another program, whose readers take the last of equal keys: unlike parse_yaml(), this function
// allows equal keys, and keeps all of them in the mapping, in their order.
Value parse_foreign_yaml(const std::string& text, const std::string& name);

// Returns text that parse_yaml reads back as an equal value, except for its places; words that could be taken for
// YAML's own signs are quoted.
std::string emit_yaml(const Value& value);

// Returns the text of emit_yaml() on one line, without a line end.
std::string emit_flow_yaml(const Value& value);

// Returns a YAML string in double quotes, so that no name can be read as anything else.
std::string quoted_yaml(const std::string& text);

// Deepest nesting allowed in a document, overrides included.
inline constexpr std::size_t kMaxDocumentDepth = 64;

// Most bytes of a key: a key in quotes and with its escapes must stay below the 1,024 characters that YAML allows on
// one line.
inline constexpr std::size_t kMaxKeyBytes = 128;

}  // namespace mirfak
