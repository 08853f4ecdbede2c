#pragma once

#include "import/import_formats.hpp"
#include "import/launch_command.hpp"

#include <span>
#include <vector>

namespace mirfak {

bool is_maxtext_file(const ImportFile& file);

// Reads a command of MaxText: `python3 -m MaxText.train base.yml key=value`. A configuration that it names counts if it
// is among `files`; base.yml, which says the defaults, may be absent. `others`: settings that stay open for the reader
// of the script around the command.
ImportDraft import_maxtext_command(const LaunchCommand& command, std::vector<Setting> others,
                                   std::span<const ImportFile> files, const ImportContext& context);

}  // namespace mirfak
