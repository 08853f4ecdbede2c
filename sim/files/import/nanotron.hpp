#pragma once

#include "import/import_formats.hpp"
#include "import/launch_command.hpp"

#include <span>
#include <vector>

namespace mirfak {

// nanotron: one YAML of sections that are dataclasses, which run_train.py reads. hw_profiles/launch/nanotron.yaml has
// the kinds of models.
bool is_nanotron_file(const ImportFile& file);

// Reads a command of run_train.py: the file that --config-file names must be among `files`. `others`: settings that
// stay open for the reader of the script around the command.
ImportDraft import_nanotron_command(const LaunchCommand& command, std::vector<Setting> others,
                                    std::span<const ImportFile> files, const ImportContext& context);

}  // namespace mirfak
