#pragma once

#include "import/import_formats.hpp"
#include "import/launch_command.hpp"

#include <span>
#include <vector>

namespace mirfak {

// Reads what the options of a launcher say of the program that it starts: those of `accelerate launch` are settings of
// Accelerate, named as in its YAML (kAcceleratePrefix in front). Other launchers say none.
std::vector<Setting> launcher_settings(const LaunchCommand& launch, const ScenarioSources& sources);

// Nodes and GPUs that a launcher says otherwise than by a number of each: deepspeed's --hostfile and --include, tasks
// of srun and mpirun. `files`: those beside the script, for the hostfile. What stays open is noted.
void read_launcher_machine(LaunchCommand& launch, std::span<const ImportFile> files,
                           std::vector<ImportObstacle>& notes);

// Names of files that options of the launcher name.
std::vector<std::string> files_of_launcher(const LaunchCommand& launch);

}  // namespace mirfak
