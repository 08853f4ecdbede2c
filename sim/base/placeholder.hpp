#pragma once

#include "base/document.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// The word that a template has in place of a value that the user must fill in.
inline constexpr std::string_view kPlaceholder = "FILL_IN";

struct Placeholder {
  std::string key;      // "peak_flops.fp16", "cluster.nodes[0].count"; in a list [FILL_IN, source] the list's key
  std::string meaning;  // the comment after the placeholder on its line, or empty
  Location where;
};

// Returns all placeholders, in the order of the text.
std::vector<Placeholder> placeholders(const Value& root, const std::string& text);

// Throws one Error(input) that lists all placeholders, if there are any.
void refuse_placeholders(const Value& root, const std::string& text, const std::string& name);

// Returns a template's text with other values: "training.global_batch=512" replaces that value; comments and all other
// text stay. If a figure is written as a list, its first item is replaced. Error(input) for a key that the template
// does not have as a word, and for a value that is not one word of YAML.
std::string filled_template(std::string text, const std::string& name, std::span<const std::string> assignments);

}  // namespace mirfak
