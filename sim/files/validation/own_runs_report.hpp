#pragma once

#include "base/section.hpp"
#include "validation/calibrated_runs.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace mirfak {

// Report of a user's own runs on a node type: its time factors; every run with the predictions by the profiles, by the
// other runs and by all runs; and the rows that could not be used, with their reasons.
std::string own_runs_text(const CalibratedRuns& calibrated);
nlohmann::ordered_json own_runs_json(const CalibratedRuns& calibrated);

// Returns the factors of a correction with a range of one deviation, in which 68 % of such machines lie.
Table factors_table(const Correction& correction);
nlohmann::ordered_json factors_json(const Correction& correction);  // `factor` and `deviation` by name

}  // namespace mirfak
