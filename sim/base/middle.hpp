#pragma once

#include <vector>

namespace mirfak {

// The value in the middle; of an even count the upper of the two. At least one value.
double middle(std::vector<double> values);

}  // namespace mirfak
