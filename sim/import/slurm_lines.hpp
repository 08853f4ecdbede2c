#pragma once

#include "import/import_draft.hpp"

#include <map>
#include <string>
#include <vector>

namespace mirfak {

// The #SBATCH lines of a job script.
struct SlurmLines {
  std::vector<Setting> settings;  // "#SBATCH --nodes"
  // Nodes, GPUs of a node and what they are called, where the lines say so; parts of a heterogeneous job.
  ImportedMachine machine;
  ImportedMachine of_tasks;  // the same where each task is a process with a GPU
  // What Slurm sets in the script because of them: SLURM_NNODES, ...
  std::map<std::string, std::string> environment;
  std::vector<ImportObstacle> notes;
};

// Lines count up to the first command, as sbatch reads them, and in a script inside the script, which begins with #!.
SlurmLines slurm_lines(const std::string& text, const std::string& name);

}  // namespace mirfak
