#pragma once

#include "import/argument_words.hpp"

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace mirfak {

// One option of sbatch, salloc or srun.
struct SlurmOption {
  std::string name;  // "--nodes", whichever way it is written
  std::string value;
  std::string text;  // as it stands there: "-N2"
  Location where;
};

// The options at the begin of `words`; `next` becomes the number of words that they take.
std::vector<SlurmOption> slurm_options(std::span<const ArgumentWord> words, std::size_t& next);

// The nodes, tasks and GPUs that options ask for together. Each may say a part: tasks of a node and GPUs of a task are
// GPUs of a node.
class SlurmRequest {
 public:
  // True if the option says something about nodes, tasks or GPUs.
  bool take(const SlurmOption& option);
  // The nodes as far as they follow. `task_gpu`: each task is a process with a GPU, where nothing is said of GPUs.
  ImportedNodes nodes(bool task_gpu = false) const;
  // The variables that Slurm sets because of the options: SLURM_NNODES, ...
  std::map<std::string, std::string> environment() const;

  std::string said_by;
  std::vector<ImportObstacle> notes;  // what was taken for granted, or is not understood

 private:
  bool take_gpus(const SlurmOption& option);

  std::string gpu_;
  std::string partition_;
  std::string feature_;
  std::string job_;
  std::string gpus_per_node_text_;
  std::optional<std::int64_t> nodes_, tasks_, tasks_per_node_, processors_, gpus_, gpus_per_node_, gres_,
      gpus_per_task_;
};

}  // namespace mirfak
