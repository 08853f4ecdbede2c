#pragma once

#include "sweep/sweep_table.hpp"

#include <string>

namespace mirfak {

// Returns the points of a small sweep as a table: the axes' values of each point and its results.
std::string points_text(const SweepTable& table);

}  // namespace mirfak
