#pragma once

#include "import/import_draft.hpp"
#include "import/import_formats.hpp"
#include "import/measured_steps.hpp"
#include "import/training_log.hpp"

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace mirfak {

// One run of a log, with its settings read as far as the log states them.
struct LoggedRun {
  std::string program;
  bool whole = false;  // the log has all settings of the program, so that options that it lacks are at their defaults
  std::vector<std::vector<LoggedTime>> parts;  // times; each start and each return to a checkpoint begins a part
  std::optional<std::int64_t> gpus;            // GPUs of the job
  Location gpus_where;
  std::string gpu;  // the program's name of the GPU: "NVIDIA H100 80GB HBM3"; "": not stated
  Location gpu_where;
  std::optional<std::int64_t> sized_for;  // GPUs by which rates become seconds: those of --nodes, else the log's
  ImportDraft draft;
};

// Reads the first file, a log. Starts of a run with the same settings are one run; of several runs `context.run` says
// which is read, from 1. Error(input) for several runs without it, and as of read_training_log().
LoggedRun read_logged_run(std::span<const ImportFile> files, const ImportContext& context);

// Returns how long the steps of a run took, by the sizes that a scenario states. Error(input) at the file if no line
// states a time, or if the log has rates whose sizes nothing states: all of them are named.
MeasuredSteps steps_of(const LoggedRun& run, const StepSizes& sizes, const std::string& file);

// Returns the sizes that the draft of a run states.
StepSizes sizes_of(const LoggedRun& run);

// Keys of a scenario that a log may leave open, and that no other file decides: asked for by name.
std::vector<std::string> keys_not_stated(const LoggedRun& run);

}  // namespace mirfak
