#pragma once

#include "validation/calibrated_runs.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace mirfak {

// What a user's own runs say of a node type: its time factors, every run as it was predicted by the profiles, by the
// other runs and by all, and the rows that could not be used with their reasons.
std::string own_runs_text(const CalibratedRuns& calibrated);
nlohmann::ordered_json own_runs_json(const CalibratedRuns& calibrated);

}  // namespace mirfak
