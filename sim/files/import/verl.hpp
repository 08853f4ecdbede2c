#pragma once

#include "import/import_formats.hpp"
#include "import/launch_command.hpp"

#include <span>
#include <vector>

namespace mirfak {

// Reads a command of verl: main_ppo (reinforcement learning) or sft_trainer with KEY=VALUE, as Hydra takes them, and
// the file that --config-name names, if it is among `files`. Of a step of reinforcement learning an iteration is one
// update of the actor, by ppo_mini_batch_size x rollout.n answers; a note says so. `others`: settings that stay open
// for the reader of the script around the command.
ImportDraft import_verl_command(const LaunchCommand& command, std::vector<Setting> others,
                                std::span<const ImportFile> files, const ImportContext& context);

}  // namespace mirfak
