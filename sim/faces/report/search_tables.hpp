#pragma once

#include "base/section.hpp"
#include "report/search_report.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace mirfak {

// Parts of search_text(); each part answers one question of the reader.

// Returns the strategies, best first, with the parameters in which they differ; common parameters stand before the
// table. After the table: the variants of each strategy, and their differences from it.
std::string best_strategies_text(const SearchReport& report);

// Returns the activities in whose seconds the best strategy and another layout differ, and the parameters in which the
// runner-up differs.
std::string search_comparison_text(const SearchReport& report);

// Returns a Pareto set with its ends and its knee.
std::string pareto_text(const SearchReport& report);

// Returns what strategies have to leave of memory: "strategies fit with a probability of 90 % or more".
std::string memory_limit_text(const SearchSpec& spec);
// Returns how many strategies were held back for memory, and the nearest miss; "" if none was, or a probability was not
// asked for.
std::string held_back_text(const SearchReport& report);

// Returns the number of strategies that each step of the search left, and the meaning of the steps.
Table funnel_table(const SearchReport& report);
std::string funnel_text(const SearchReport& report);

// Returns the figure of the stated strategy with that of the best strategy, "8.04 s; best 6.37 s, -21 %"; "" for a
// search without a baseline.
std::string baseline_text(const SearchReport& report);
// Returns the difference of the best from a baseline, activity by activity; "" without one.
std::string baseline_comparison_text(const SearchReport& report);

// Return the strategy with the least p90 of the time, next to the fastest; "" and null unless the search is robust.
std::string robust_text(const SearchReport& report);
nlohmann::ordered_json robust_json(const SearchReport& report);

}  // namespace mirfak
