#pragma once

#include "import/import_formats.hpp"

#include <vector>

namespace mirfak {

// Reads settings of torchtitan, named by section and key ("training.local_batch_size"), from any source: TOML, a
// command line of later releases, or YAML of programs around torchtitan.
ImportDraft import_torchtitan(std::vector<Setting> settings, const ImportContext& context);

ImportDraft read_torchtitan_toml(std::span<const ImportFile> files, const ImportContext& context);

}  // namespace mirfak
