#pragma once

#include "cli/options.hpp"
#include "import/imported_job.hpp"

#include <string>
#include <vector>

namespace mirfak {

// What commands take that read files of training programs.
struct ImportOptions {
  std::vector<std::string> nodes;        // --nodes
  std::vector<std::string> environment;  // --env
  std::vector<std::string> parameters;   // --arg
  int launch = 0;                        // --launch; 0: the first training
  std::string format;                    // --from
  std::vector<std::string> cluster;      // --cluster: files that say what it is made of

  void add_to(CommandSyntax& syntax);
  bool given() const;
};

// Error(input) as import_job() has them.
ImportedJob import_files(const std::vector<std::string>& paths, const ImportOptions& options,
                         const ScenarioSources& sources);

// A scenario, or what a file of a training program becomes, with overrides applied. Error(input) at the first thing
// that mirfak does not describe: what is simulated would be another training.
Document scenario_document(const std::string& path, const ImportOptions& options,
                           const std::vector<std::string>& overrides, const ScenarioSources& sources);

// Whether a file is one of a training program: none that begins as a scenario does.
bool is_import_file(const std::string& path);

}  // namespace mirfak
