#pragma once

#include "trace/recording_comparison.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace mirfak {

std::string recording_comparison_text(const RecordingComparison& comparison);
// Seconds; null where a side does not know the thing.
nlohmann::ordered_json recording_comparison_json(const RecordingComparison& comparison);

}  // namespace mirfak
