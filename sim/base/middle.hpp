#pragma once

#include <vector>

namespace mirfak {

// Returns the value in the middle; for an even count the upper of the two. At least one value.
double middle(std::vector<double> values);

}  // namespace mirfak
