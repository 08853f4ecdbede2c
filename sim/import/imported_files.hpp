#pragma once

#include "import/imported_job.hpp"

#include <span>
#include <string>
#include <vector>

namespace mirfak {

// What a user says beside the files of a training program, in texts.
struct ImportWishes {
  std::vector<std::string> nodes;        // "hgx-h100:64"
  std::vector<std::string> environment;  // "NAME=VALUE": variables that files use
  std::vector<std::string> parameters;   // a script's $1, $2, ...
  int launch = 0;                        // of a script that starts several programs: which; 0: the first training
  std::string format;                    // what kind of file it is; "": by what it holds
  std::vector<std::string> cluster;      // files that say what the cluster is made of
};

// Reads the files, the first of which is what the training is started with. Error(input) as of import_job(), and for
// wishes of another form.
ImportedJob import_files(std::span<const std::string> paths, const ImportWishes& wishes,
                         const ScenarioSources& sources);

}  // namespace mirfak
