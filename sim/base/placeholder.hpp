#pragma once

#include "base/document.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// What a template has in place of a value that somebody must fill in.
inline constexpr std::string_view kPlaceholder = "FILL_IN";

struct Placeholder {
  std::string key;      // "peak_flops.fp16", "cluster.nodes[0].count"; of a list [FILL_IN, source] that of the list
  std::string meaning;  // the comment behind it on its line, or empty
  Location where;
};

// All of them, in the order of the text.
std::vector<Placeholder> placeholders(const Value& root, const std::string& text);

// Error(input) that lists all of them at once, if there are any.
void refuse_placeholders(const Value& root, const std::string& text, const std::string& name);

// A template's text with other values: "training.global_batch=512" replaces that value, comments and all else stay as
// they are. Of a figure written as a list, the first item is replaced. Error(input) for a key that the template does
// not have as a word, and for a value that is no word of YAML.
std::string filled_template(std::string text, const std::string& name, std::span<const std::string> assignments);

}  // namespace mirfak
