#pragma once

#include "sweep/sweep_table.hpp"

#include <nlohmann/json_fwd.hpp>

namespace mirfak {

inline constexpr std::size_t kMostPagePoints = 5000;

// What a page shows of a sweep (page/README.md): `result`, the object that --format json prints, `columns`, `rows` of
// up to kMostPagePoints points, evenly where there are more, which `left_out` then says.
nlohmann::ordered_json sweep_page_data(const SweepTable& table, const nlohmann::ordered_json& result);

}  // namespace mirfak
