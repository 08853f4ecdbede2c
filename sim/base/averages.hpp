#pragma once

#include <span>
#include <vector>

namespace mirfak {

// All need at least one value.
double mean(std::span<const double> values);  // adds in the order of the values
double middle(std::vector<double> values);    // the value in the middle; for an even count the upper of the two
double median(std::vector<double> values);    // the same; for an even count the mean of the two
// Returns the quantile of sorted values for a share from 0 to 1, interpolated linearly between the two next to it.
double interpolated_quantile(std::span<const double> sorted, double share);

}  // namespace mirfak
