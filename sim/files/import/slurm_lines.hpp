#pragma once

#include "import/import_draft.hpp"

#include <map>
#include <string>
#include <vector>

namespace mirfak {

// The #SBATCH lines of a job script.
struct SlurmLines {
  std::vector<Setting> settings;  // "#SBATCH --nodes"
  // Nodes, GPUs per node and the GPUs' name, as far as the lines state them; parts of a heterogeneous job.
  ImportedMachine machine;
  ImportedMachine of_tasks;  // the same machine if each task is a process with a GPU
  // Variables that Slurm sets in the script because of the lines: SLURM_NNODES, ...
  std::map<std::string, std::string> environment;
  std::vector<ImportObstacle> notes;
};

// Reads the #SBATCH lines up to the first command, as sbatch does, and those in a script inside the script, which
// begins with #!.
SlurmLines slurm_lines(const std::string& text, const std::string& name);

}  // namespace mirfak
