#pragma once

#include "cli/options.hpp"
#include "import/imported_files.hpp"

#include <string>
#include <vector>

namespace mirfak {

// What commands take that read files of training programs.
struct ImportOptions : ImportWishes {
  void add_to(CommandSyntax& syntax);
  bool given() const;
};

// A scenario, or what a file of a training program becomes, with overrides applied. Error(input) at the first thing
// that mirfak does not describe: what is simulated would be another training.
Document scenario_document(const std::string& path, const ImportOptions& options,
                           const std::vector<std::string>& overrides, const ScenarioSources& sources);

// Whether a file is one of a training program: none that begins as a scenario does.
bool is_import_file(const std::string& path);

}  // namespace mirfak
