#pragma once

#include "import/imported_job.hpp"
#include "import/log_import.hpp"

#include <span>
#include <string>
#include <vector>

namespace mirfak {

// A user's options in addition to the files of a training program, as texts.
struct ImportWishes {
  std::vector<std::string> nodes;        // "hgx-h100:64"
  std::vector<std::string> environment;  // "NAME=VALUE": values of variables that files use
  std::vector<std::string> parameters;   // a script's $1, $2, ...
  int launch = 0;      // index of the program to import in a script that starts several; 0: the first training
  int run = 0;         // index of the run to read in a log of several; 0: the log has one
  std::string format;  // kind of file; "": by its contents
  std::vector<std::string> cluster;  // files that state the nodes of the cluster
};

// Returns what the wishes give readers in addition to the files. Error(input) for wishes of another form.
ImportContext import_context(const ImportWishes& wishes, const ScenarioSources& sources);

// Reads the files, of which the first is the one that starts the training. Error(input) as of import_job(), and for
// wishes of another form.
ImportedJob import_files(std::span<const std::string> paths, const ImportWishes& wishes,
                         const ScenarioSources& sources);

// Reads the run of a log, the first of the files. Error(input) as of read_logged_run().
LoggedRun logged_run(std::span<const std::string> paths, const ImportWishes& wishes, const ScenarioSources& sources);

}  // namespace mirfak
