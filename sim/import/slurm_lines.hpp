#pragma once

#include "import/import_draft.hpp"

#include <map>
#include <string>
#include <vector>

namespace mirfak {

// The #SBATCH lines of a job script.
struct SlurmLines {
  std::vector<Setting> settings;  // "#SBATCH --nodes"
  ImportedMachine machine;        // nodes, GPUs of a node and what they are called, where the lines say so; parts of a
                                  // heterogeneous job
  // What Slurm sets in the script because of them: SLURM_NNODES, ...
  std::map<std::string, std::string> environment;
};
SlurmLines slurm_lines(const std::string& text, const std::string& name);

}  // namespace mirfak
