#pragma once

#include "import/import_formats.hpp"

#include <span>
#include <vector>

namespace mirfak {

// ms-swift's `megatron sft` and `megatron pt`: Megatron Core with Megatron-LM's names and defaults of its own, and a
// model that Transformers' config.json describes (modelscope/mcore-bridge). hw_profiles/launch/megatron-swift.yaml has
// the names.
bool is_megatron_swift_file(const ImportFile& file);

// Reads such settings, in the order in which they count. `where`: the program, or the file; `files`: among them may be
// a config.json of the model.
ImportDraft import_megatron_swift(std::vector<Setting> settings, const Location& where,
                                  std::span<const ImportFile> files, const ImportContext& context);

}  // namespace mirfak
