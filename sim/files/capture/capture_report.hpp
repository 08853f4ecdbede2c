#pragma once

#include "capture/capture_result.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace mirfak {

// Returns what the fullest rank needs: "rank 0 needs 68.1 GiB of 39.6 GiB".
std::string memory_need_text(const CaptureResult& result);

// Output of `mirfak simulate` for a capture. `explain`: with more rows, and what each kind of kernel is priced by.
std::string capture_text(const Capture& capture, const CapturePricing& pricing, const CaptureResult& result,
                         bool explain);
nlohmann::ordered_json capture_json(const Capture& capture, const CapturePricing& pricing, const CaptureResult& result,
                                    double wall_time_s);

}  // namespace mirfak
