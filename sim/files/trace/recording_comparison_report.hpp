#pragma once

#include "trace/recording_comparison.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace mirfak {

std::string recording_comparison_text(const RecordingComparison& comparison);
// Returns JSON in seconds; null for values that a side does not know.
nlohmann::ordered_json recording_comparison_json(const RecordingComparison& comparison);

}  // namespace mirfak
