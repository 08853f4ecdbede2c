#pragma once

#include "comparison/result_difference.hpp"

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace mirfak {

// What `mirfak diff` prints: B against A (keys of JSON: README.md of this folder). CSV has a row for each figure:
// section,name,a,b,difference, with units at the ends of names or of the section; what one of the two does not have is
// empty.
std::string difference_text(const ComparedRun& a, const ComparedRun& b, const ResultDifference& difference);
nlohmann::ordered_json difference_json(const ComparedRun& a, const ComparedRun& b, const ResultDifference& difference);
std::string difference_csv(const ResultDifference& difference);

// "The ranges overlap: ...": whether measurements would tell the two apart.
std::string verdict_text(RangeVerdict verdict);
// "equal", "unknown", "overlap", "separated"
std::string verdict_key(RangeVerdict verdict);

}  // namespace mirfak
