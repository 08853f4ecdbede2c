#pragma once

#include <string>

namespace mirfak {

// A text as it must stand in SVG or HTML, outside of tags and attributes.
std::string escaped(const std::string& text);

}  // namespace mirfak
