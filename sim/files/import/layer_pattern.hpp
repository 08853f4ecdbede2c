#pragma once

#include "base/error.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace mirfak {

// Evaluates a list of numbers written as a Python expression of lists, sums and repetitions: "([0]*3+[1]*58)",
// "[0,1]*24". Error(input) at `where` for any other text.
std::vector<std::int64_t> python_list(std::string_view text, const Location& where);

}  // namespace mirfak
