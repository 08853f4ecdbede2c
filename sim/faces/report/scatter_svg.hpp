#pragma once

#include <span>
#include <string>
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

}  // namespace mirfak
