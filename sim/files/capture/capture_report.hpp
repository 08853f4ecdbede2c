#pragma once

#include "base/section.hpp"
#include "capture/capture_result.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace mirfak {

std::string captured_step_text(const Capture& capture);   // "step 2"
std::string captured_ranks_text(const Capture& capture);  // "2 of 64 captured, 1,204 operators that launch kernels"

// Returns what the fullest rank needs: "rank 0 needs 68.1 GiB of 39.6 GiB".
std::string memory_need_text(const CaptureResult& result);

// Returns what prices and ranks are made of: the host's time and the platform's memory with their sources, prices of
// GPUs, clocks and hidden work of each captured rank.
std::vector<Section> capture_explanation(const CapturePricing& pricing, const CaptureResult& result);

// Output of `mirfak simulate` for a capture. `explain`: with more rows, and what each kind of kernel is priced by.
std::string capture_text(const Capture& capture, const CapturePricing& pricing, const CaptureResult& result,
                         bool explain);
nlohmann::ordered_json capture_json(const Capture& capture, const CapturePricing& pricing, const CaptureResult& result,
                                    double wall_time_s);

}  // namespace mirfak
