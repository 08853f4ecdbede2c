#pragma once

#include "recording/recording.hpp"
#include "recording/recording_summary.hpp"
#include "recording/step_replay.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace mirfak {

// Report of a recording and of its gaps: steps, GPU time by class, communication, host, replay.
std::string recording_text(const Recording& recording, const RecordingSummary& summary, const ReplayScore& replay);
nlohmann::ordered_json recording_json(const Recording& recording, const RecordingSummary& summary,
                                      const ReplayScore& replay);

// Returns sentences on data that the recording lacks, and on the consequences.
std::vector<std::string> missing_from(const Recording& recording, const RecordingSummary& summary);

}  // namespace mirfak
