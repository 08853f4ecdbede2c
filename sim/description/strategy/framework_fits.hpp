#pragma once

#include "strategy/framework.hpp"

#include <string_view>

namespace mirfak {

// Returns `framework` for judging runs of the table `source`: every habit that was chosen on `source` gets the value
// that the other tables choose (HabitNote::without).
Framework without_source(Framework framework, std::string_view source);

}  // namespace mirfak
