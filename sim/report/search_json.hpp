#pragma once

#include "report/search_report.hpp"

#include <nlohmann/json_fwd.hpp>

namespace mirfak {

// What a search found, for programs (keys: README.md of this folder). `wall_time_s`: of the whole command.
nlohmann::ordered_json search_json(const SearchReport& report, double wall_time_s);

// The keys that a scenario's `strategy` section would have.
nlohmann::ordered_json strategy_json(const Strategy& strategy);

}  // namespace mirfak
