#pragma once

#include "base/error.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace mirfak {

// A list of numbers written as a Python expression of lists, sums and repetitions: "([0]*3+[1]*58)", "[0,1]*24".
// Nothing else is understood: Error(input) at `where`.
std::vector<std::int64_t> python_list(std::string_view text, const Location& where);

}  // namespace mirfak
