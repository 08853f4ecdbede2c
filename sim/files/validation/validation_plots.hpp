#pragma once

#include "validation/range_fit.hpp"

#include <span>
#include <string>
#include <utility>
#include <vector>

namespace mirfak {

// A named set of points, x and y positive.
struct ScatterSeries {
  std::string name;
  std::vector<std::pair<double, double>> points;
};

// Returns a plot of measured (x) against predicted (y) seconds on logarithmic axes, as a complete SVG file: the
// diagonal, a band of +-10 % around it, a colour and a legend entry per series.
std::string scatter_svg(std::span<const ScatterSeries> series);

// Returns a reliability diagram as a complete SVG file: the coverage that ranges promise (x) against the coverage that
// they keep (y), the diagonal of honest ranges, and the width of each range.
std::string reliability_svg(std::span<const Reliability> points);

}  // namespace mirfak
