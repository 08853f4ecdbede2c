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

// A profiler's recording, and the files to make from it.
struct TraceToCalibrate {
  std::filesystem::path trace;       // a file, or a folder of ranks
  std::optional<Document> scenario;  // the recorded scenario; nullopt: nothing is fitted
  std::filesystem::path out;         // the node type's profile; empty: not written
  std::filesystem::path framework;   // the framework's file; empty: not written
};

// The results for a trace. Its summaries and replays point into its recordings, so it is moved, not copied.
struct CalibratedTrace {
  CalibratedTrace() = default;
  CalibratedTrace(CalibratedTrace&&) = default;
  CalibratedTrace& operator=(CalibratedTrace&&) = default;
  CalibratedTrace(const CalibratedTrace&) = delete;
  CalibratedTrace& operator=(const CalibratedTrace&) = delete;

  std::vector<Recording> recordings;
  std::vector<RecordingSummary> summaries;  // one per recording, as in `replays`
  std::vector<ReplayScore> replays;
  std::optional<RecordedFit> fit;  // only with a scenario
  std::optional<RecordedHost> host;
};

// Reads the recordings. With a scenario, corrects its node type and framework by the recorded steps, and writes both.
// Error(input) as of read_recordings() and fit_recorded_run(), and for an output file that the recordings cannot fill;
// then neither file is written.
CalibratedTrace calibrate_by_trace(const TraceToCalibrate& given, const DataFolders& folders);

}  // namespace mirfak
