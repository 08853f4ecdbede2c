#pragma once

#include <string>
#include <string_view>

namespace mirfak {

// Returns a picture (SVG) of a graph in Graphviz' language, drawn by the program `dot`. Error(input) if `dot` is not
// found in PATH; Error(internal) if `dot` fails.
std::string drawn_by_graphviz(std::string_view dot_text);

}  // namespace mirfak
