#pragma once

#include "validation/calibrated_trace.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace mirfak {

// Returns the content of a profiler's recording, rank by rank. With a scenario, adds the factors of its machine and of
// the host that the recorded steps yield, errors on the steps left out, and the factors that recordings do not tell.
std::string calibrated_trace_text(const CalibratedTrace& calibrated);
// Returns JSON. `recordings`: as of recording_json(); `fit`: only with a scenario.
nlohmann::ordered_json calibrated_trace_json(const CalibratedTrace& calibrated);

}  // namespace mirfak
