#pragma once

#include "strategy/framework.hpp"

#include <string_view>

namespace mirfak {

// `framework` with what the other sources choose of each habit that was chosen on `source` (HabitNote::without): what
// a run of that source is judged by.
Framework without_source(Framework framework, std::string_view source);

}  // namespace mirfak
