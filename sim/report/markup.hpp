#pragma once

#include <string>
#include <string_view>

namespace mirfak {

// A text as it must stand in SVG or HTML, outside of tags and attributes.
std::string escaped(const std::string& text);
// Between quotation marks of a Graphviz file.
std::string dot_escaped(std::string_view text);

}  // namespace mirfak
