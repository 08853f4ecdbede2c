#pragma once

#include "sweep/sweep_table.hpp"

#include <nlohmann/json_fwd.hpp>

namespace mirfak {

inline constexpr std::size_t kMostPagePoints = 5000;

// Returns a sweep's data for its page (page/README.md): `result`, the object that --format json prints; `columns`; and
// `rows` of up to kMostPagePoints points, evenly spaced in a longer table, which `left_out` then states.
nlohmann::ordered_json sweep_page_data(const SweepTable& table, const nlohmann::ordered_json& result);

}  // namespace mirfak
