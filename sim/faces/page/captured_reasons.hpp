#pragma once

#include "capture/capture_result.hpp"

#include <nlohmann/json_fwd.hpp>

namespace mirfak {

// Returns the explanation of the figures of a captured step, as explanation_of() does of an iteration
// (figure_reasons.hpp).
nlohmann::ordered_json explanation_of(const CapturePricing& pricing, const CaptureResult& result);

}  // namespace mirfak
