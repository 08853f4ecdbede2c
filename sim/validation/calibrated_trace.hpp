#pragma once

#include "base/document.hpp"
#include "recording/recording.hpp"
#include "recording/recording_summary.hpp"
#include "recording/step_replay.hpp"
#include "validation/recorded_run.hpp"

#include <filesystem>
#include <optional>
#include <vector>

namespace mirfak {

// What a profiler recorded, and what to make of it.
struct TraceToCalibrate {
  std::filesystem::path trace;       // a file, or a folder of ranks
  std::optional<Document> scenario;  // what was recorded; nullopt: nothing is fitted
  std::filesystem::path out;         // the node type's profile; empty: not written
  std::filesystem::path framework;   // the framework's file; empty: not written
};

// What its summaries and replays say points into its recordings: it is moved, not copied.
struct CalibratedTrace {
  CalibratedTrace() = default;
  CalibratedTrace(CalibratedTrace&&) = default;
  CalibratedTrace& operator=(CalibratedTrace&&) = default;
  CalibratedTrace(const CalibratedTrace&) = delete;
  CalibratedTrace& operator=(const CalibratedTrace&) = delete;

  std::vector<Recording> recordings;
  std::vector<RecordingSummary> summaries;  // of each recording, as the next
  std::vector<ReplayScore> replays;
  std::optional<RecordedFit> fit;  // with a scenario
  std::optional<RecordedHost> host;
};

// Reads the recordings. With a scenario, corrects its node type and framework by the recorded steps, and writes them.
// Error(input) as of read_recordings() and fit_recorded_run(), and for files that nothing is known for; then neither
// is written.
CalibratedTrace calibrate_by_trace(const TraceToCalibrate& given, const DataFolders& folders);

}  // namespace mirfak
