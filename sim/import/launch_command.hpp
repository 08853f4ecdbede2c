#pragma once

#include "import/argument_words.hpp"
#include "import/import_draft.hpp"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace mirfak {

// A command line that starts a Python program on the GPUs of a cluster, taken apart.
struct LaunchCommand {
  std::string launcher;  // "torchrun", "deepspeed", "python", ...: the innermost
  Location where;        // of the command
  ImportedMachine machine;
  std::string program;                       // "pretrain_gpt.py", or the module behind -m
  std::string program_path;                  // as it was written: "tools/run_text_generation_server.py"
  std::vector<ArgumentWord> launcher_words;  // all in front of the program
  Location program_where;
  std::vector<ArgumentWord> arguments;     // of the program
  bool tasks_are_processes = false;        // each task of Slurm's is the program itself, not a launcher of a node
  std::vector<ImportObstacle> notes = {};  // what was taken for granted of the machines
};

// torchrun, python -m torch.distributed.launch or .run, deepspeed, accelerate launch, ft_launcher or plain python,
// behind srun, mpirun, env, nohup, uv run and the like. nullopt: words that start no Python program.
std::optional<LaunchCommand> launch_command(std::span<const ArgumentWord> words);

}  // namespace mirfak
