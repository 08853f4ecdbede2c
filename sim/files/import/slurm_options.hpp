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
  std::string name;  // "--nodes" for each spelling
  std::string value;
  std::string text;  // the written text: "-N2"
  Location where;
};

// Returns the options at the start of `words`; `next` becomes the number of words that they take.
std::vector<SlurmOption> slurm_options(std::span<const ArgumentWord> words, std::size_t& next);

// The nodes, tasks and GPUs that options request together. Each option may state a part: tasks per node and GPUs per
// task give GPUs per node.
class SlurmRequest {
 public:
  // True if the option says something about nodes, tasks or GPUs.
  bool take(const SlurmOption& option);
  // Returns the nodes as far as the options determine them. `task_gpu`: without a statement on GPUs, each task is a
  // process with a GPU.
  ImportedNodes nodes(bool task_gpu = false) const;
  // Returns the variables that Slurm sets because of the options: SLURM_NNODES, ...
  std::map<std::string, std::string> environment() const;

  std::string said_by;
  std::vector<ImportObstacle> notes;  // assumptions, and options that are not understood

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
