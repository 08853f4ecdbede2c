#pragma once

#include "validation/range_fit.hpp"

#include <span>
#include <string>

namespace mirfak {

// A reliability diagram as a complete SVG file: what ranges promise (x) against what they keep (y), the diagonal that
// honest ones lie on, and how wide each is.
std::string reliability_svg(std::span<const Reliability> points);

}  // namespace mirfak
