#pragma once

#include "import/import_formats.hpp"
#include "import/launch_command.hpp"

#include <span>
#include <vector>

namespace mirfak {

// Returns the settings that a launcher's options make for the program: options of `accelerate launch` are settings of
// Accelerate, named as in its YAML (with kAcceleratePrefix). Other launchers make none.
std::vector<Setting> launcher_settings(const LaunchCommand& launch, const ScenarioSources& sources);

// Reads nodes and GPUs that a launcher states otherwise than by a number of each: deepspeed's --hostfile and --include,
// tasks of srun and mpirun. `files`: the files next to the script, for the hostfile. Open questions are noted.
void read_launcher_machine(LaunchCommand& launch, std::span<const ImportFile> files,
                           std::vector<ImportObstacle>& notes);

// Returns the names of files in the launcher's options.
std::vector<std::string> files_of_launcher(const LaunchCommand& launch);

}  // namespace mirfak
