#pragma once

#include "report/search_report.hpp"

#include <string>

namespace mirfak {

// The parts of search_text(); each answers one of the questions that a reader has.

// The strategies, best first, with the parameters in which they differ; those in which all agree said before. Behind
// them the variants of each, and in what they differ from it.
std::string best_strategies_text(const SearchReport& report);

// Where the seconds between the best and another layout are, and what the runner-up does otherwise.
std::string search_comparison_text(const SearchReport& report);

// A Pareto set with its ends and its knee.
std::string pareto_text(const SearchReport& report);

// How many strategies each step of the search left, and what that means.
std::string funnel_text(const SearchReport& report);

}  // namespace mirfak
