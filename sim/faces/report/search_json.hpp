#pragma once

#include "report/search_report.hpp"

#include <nlohmann/json_fwd.hpp>

namespace mirfak {

// Returns the results of a search (keys: README.md of this folder). `wall_time_s`: seconds of the whole command.
nlohmann::ordered_json search_json(const SearchReport& report, double wall_time_s);

// Returns a strategy as the keys of a scenario's `strategy` section.
nlohmann::ordered_json strategy_json(const Strategy& strategy);

}  // namespace mirfak
