#pragma once

#include "validation/calibrated_trace.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace mirfak {

// What a profiler recorded, rank by rank; with a scenario, what the recorded steps say of its machine and of the host:
// factors, errors on the steps left out, and what is not told.
std::string calibrated_trace_text(const CalibratedTrace& calibrated);
// recordings: as of recording_json(); fit: with a scenario.
nlohmann::ordered_json calibrated_trace_json(const CalibratedTrace& calibrated);

}  // namespace mirfak
