#pragma once

#include "comparison/result_difference.hpp"

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace mirfak {

// Output of `mirfak diff`: B against A (keys of JSON: README.md of this folder). CSV has a row for each figure:
// section,name,a,b,difference. Units stand at the ends of names or of the section. Values that a run does not have are
// empty.
std::string difference_text(const ComparedRun& a, const ComparedRun& b, const ResultDifference& difference);
nlohmann::ordered_json difference_json(const ComparedRun& a, const ComparedRun& b, const ResultDifference& difference);
std::string difference_csv(const ResultDifference& difference);

}  // namespace mirfak
