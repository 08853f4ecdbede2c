#pragma once

#include <string>
#include <string_view>

namespace mirfak {

// A picture (SVG) of a graph in Graphviz' language, drawn by its program `dot`. Error(input) where that is not found
// among the programs of PATH; Error(internal) where it fails.
std::string drawn_by_graphviz(std::string_view dot_text);

}  // namespace mirfak
