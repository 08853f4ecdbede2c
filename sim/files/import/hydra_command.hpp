#pragma once

#include "import/argument_words.hpp"
#include "import/import_formats.hpp"

#include <span>
#include <vector>

namespace mirfak {

// Words of a command line as Hydra takes them: KEY=VALUE, +KEY=VALUE and ++KEY=VALUE change the configuration, ~KEY
// takes a key away, and options (--config-name FILE, --config-path FOLDER) say which configuration it is.
struct HydraCommand {
  std::vector<Setting> options;  // names as in Python: config_name
  std::vector<ArgumentWord> changes;

  // Returns the file that --config-name names, with or without ".yaml"; nullptr: it is not among `files`, or not named.
  const ImportFile* file(std::span<const ImportFile> files) const;
};

// Error(input) at a word that is none of these.
HydraCommand hydra_command(std::span<const ArgumentWord> words);

// Returns the settings of a configuration with the command's changes, references filled in after them; settings that
// the command states have its words and places. `file`: nullptr: the changes alone. Error(input) for a key to take away
// that is not there.
std::vector<Setting> changed_settings(const HydraCommand& command, const ImportFile* file,
                                      const ImportContext& context);

}  // namespace mirfak
