#pragma once

#include <string>
#include <string_view>

namespace mirfak {

// Returns a text escaped for SVG or HTML, outside of tags and attributes.
std::string escaped(const std::string& text);
// Returns a text escaped for quotation marks of a Graphviz file.
std::string dot_escaped(std::string_view text);

}  // namespace mirfak
