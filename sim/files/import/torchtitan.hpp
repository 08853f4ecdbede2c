#pragma once

#include "import/import_formats.hpp"

#include <vector>

namespace mirfak {

// Reads settings of torchtitan, named by section and key ("training.local_batch_size"), from any source: TOML, a
// command line of later releases, or YAML of programs around torchtitan.
ImportDraft import_torchtitan(std::vector<Setting> settings, const ImportContext& context);

bool is_torchtitan_toml(const ImportFile& file);
ImportDraft read_torchtitan_toml(std::span<const ImportFile> files, const ImportContext& context);
inline constexpr ImportFormat kTorchtitanToml = {
    "torchtitan-toml", "TOML of torchtitan v0.1.0 to v0.2.2: [model], [training], [parallelism], ...",
    is_torchtitan_toml, read_torchtitan_toml};

}  // namespace mirfak
