#pragma once

#include "validation/range_fit.hpp"

#include <span>
#include <string>

namespace mirfak {

// Returns a reliability diagram as a complete SVG file: the coverage that ranges promise (x) against the coverage that
// they keep (y), the diagonal of honest ranges, and the width of each range.
std::string reliability_svg(std::span<const Reliability> points);

}  // namespace mirfak
