#pragma once

#include "report/search_report.hpp"

#include <string>

namespace mirfak {

// What a person reads about a search: what was searched, the strategies as a table, why the best is the best (or, of a
// Pareto set, what its ends and its knee are), and where the other strategies were lost. Lines end with '\n'.
std::string search_text(const SearchReport& report);

// Why nothing was found, and what to change. Needs a report without strategies.
struct SearchFailure {
  std::string reason;
  std::string hint;
};
SearchFailure search_failure(const SearchReport& report);
std::string search_failure_reason(
    const SearchReport& report);  // the same without the hint, which takes a while to find

}  // namespace mirfak
