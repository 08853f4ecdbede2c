#pragma once

#include "report/search_report.hpp"

#include <string>

namespace mirfak {

// Returns the report of a search for people: the subject of the search, the strategies as a table, the reason why the
// best strategy is best (for a Pareto set: its ends and its knee), and the steps in which the other strategies were
// lost. Lines end with '\n'.
std::string search_text(const SearchReport& report);

// Reason why nothing was found, and a change that would help. Needs a report without strategies.
struct SearchFailure {
  std::string reason;
  std::string hint;
};
SearchFailure search_failure(const SearchReport& report);
std::string search_failure_reason(
    const SearchReport& report);  // the reason alone, without the hint, which takes a while to find

}  // namespace mirfak
