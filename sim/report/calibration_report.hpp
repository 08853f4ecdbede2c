#pragma once

#include "calibration/table_kind.hpp"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace mirfak {

// Per section its constants, then its errors on the part fitted and on the held-out part.
std::string calibration_text(const std::vector<FittedSection>& sections);

// sections: name ("gemm.bf16"), constants by name, source, doubtful (is_doubtful), scores (name, and of fitted and
// held_out: n, mape, median_ape, p90_ape as fractions).
nlohmann::ordered_json calibration_json(const std::vector<FittedSection>& sections);

}  // namespace mirfak
