#pragma once

#include "sweep/sweep_table.hpp"

#include <string>

namespace mirfak {

// The points of a small sweep as a table: what the axes say of each, and what it came to.
std::string points_text(const SweepTable& table);

}  // namespace mirfak
