#pragma once

#include <string>
#include <string_view>

namespace mirfak {

// Returns a text escaped for SVG or HTML, outside of tags and attributes.
std::string escaped(const std::string& text);
// Style of pictures (SVG) that stand alone, in light and dark; all pictures share it. Classes: `s` lesser text, `r`
// text of what binds, `paper` the ground, `box`, `grid`, `halo`, `mark`, `area`. Colours are written out, not as
// variables, for viewers that support only simple style sheets.
inline constexpr std::string_view kPictureStyle = R"(text { font-family: sans-serif; font-size: 11.5px; fill: #1d2733; }
.s { fill: #5a6775; } .r { fill: #c62f2f; } .paper { fill: #ffffff; }
.box { fill: #eef2f6; stroke: #c3ccd6; } .grid { fill: none; stroke: #c3ccd6; }
.halo { fill: none; stroke: #c62f2f; } .mark { fill: #c62f2f; stroke: #ffffff; } .area { fill: #417fbf; }
@media (prefers-color-scheme: dark) {
  text { fill: #e4e9ee; }
  .s { fill: #9daab7; } .r { fill: #ff7a6b; } .paper { fill: #14191f; }
  .box { fill: #242c35; stroke: #465362; } .grid { stroke: #465362; }
  .halo { stroke: #ff7a6b; } .mark { fill: #ff7a6b; stroke: #14191f; } .area { fill: #64a0dd; }
}
)";

// Returns a text escaped for quotation marks of a Graphviz file.
std::string dot_escaped(std::string_view text);

}  // namespace mirfak
