#pragma once

#include "base/document.hpp"

#include <optional>
#include <string>
#include <vector>

namespace mirfak::serve {

// A key of a scenario ("strategy.tensor") that gets a value, as YAML text, or is removed.
struct KeyEdit {
  std::string key;
  std::optional<std::string> value;
};

// Returns the scenario's text with these keys changed. Comments and layout stay, unless an edit does not fit into a
// line of the text: then the full text is written anew. Error(input) for a key that does not fit the scenario, and for
// a value that is no YAML, at `name` of the document.
std::string edited(std::string text, const std::vector<KeyEdit>& edits, const std::string& name);

}  // namespace mirfak::serve
