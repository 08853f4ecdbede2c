#pragma once

#include "import/import_draft.hpp"
#include "import/import_formats.hpp"
#include "import/log_format.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace mirfak {

// A fact that a line states.
struct LoggedFact {
  std::string key;   // LogFact::key
  std::string word;  // value of the key, in mirfak's words
  Location where;
  std::string text;  // the log's text
};

// A time that a line states.
struct LoggedTime {
  std::optional<double> step;   // number that grows from step to step
  std::optional<double> batch;  // global batch of the step
  LogUnit unit = LogUnit::seconds;
  double value = 0;
  Location where;
};

// One start of a run in a log: from the lines at which it begins to the next start.
struct LoggedStart {
  Location where;
  std::vector<Setting> settings;  // all options of the program; empty: the log does not have them
  std::vector<LoggedFact> facts;
  // Times in their order; a new part begins where steps go back: the run continued from a checkpoint.
  std::vector<std::vector<LoggedTime>> parts;

  bool timed() const { return !parts.empty(); }
};

// A log of a training program.
struct TrainingLog {
  LogFormat format;
  std::vector<LoggedStart> starts;    // at least one
  std::vector<ImportObstacle> notes;  // lines that are not read, and the end of a log that is cut off
};

// True if a file is a log of a program of logs.yaml: a line states a time, or the program's settings stand in it.
bool is_training_log(const ImportFile& file, const std::filesystem::path& hardware);

// Reads a log. Colours are removed, and a line end is a line feed or a carriage return. Of lines that several ranks
// print, those of the first rank that states a time count. If the log has times of several programs, the first program
// of logs.yaml counts. The last line counts only if it has its end. Error(input) for a file that is no log.
TrainingLog read_training_log(const ImportFile& file, const std::filesystem::path& hardware);

}  // namespace mirfak
