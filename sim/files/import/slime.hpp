#pragma once

#include "import/import_formats.hpp"
#include "import/launch_command.hpp"

#include <vector>

namespace mirfak {

// Reads a command of slime (train.py, train_async.py): Megatron-LM's options, and slime's own. An iteration is one
// update of the actor, by global_batch_size samples; a note says so. `others`: settings that stay open for the reader
// of the script around the command.
ImportDraft import_slime_command(const LaunchCommand& command, std::vector<Setting> others,
                                 const ImportContext& context);

}  // namespace mirfak
