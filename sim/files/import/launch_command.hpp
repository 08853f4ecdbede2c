#pragma once

#include "import/argument_words.hpp"
#include "import/import_draft.hpp"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace mirfak {

// The parts of a command line that starts a Python program on the GPUs of a cluster.
struct LaunchCommand {
  std::string launcher;  // "torchrun", "deepspeed", "python", ...: the innermost launcher
  Location where;        // place of the command
  ImportedMachine machine;
  std::string program;                       // "pretrain_gpt.py", or the module after -m
  std::string program_path;                  // the written path: "tools/run_text_generation_server.py"
  std::vector<ArgumentWord> launcher_words;  // all words before the program
  Location program_where;
  std::vector<ArgumentWord> arguments;     // words after the program
  bool tasks_are_processes = false;        // each Slurm task is the program itself, not a launcher on a node
  std::vector<ImportObstacle> notes = {};  // assumptions on the machines

  // True for a program that is a command of its own ("swift sft"), and starts its processes itself.
  bool starts_itself() const;
};

// Splits a command of torchrun, python -m torch.distributed.launch or .run, deepspeed, accelerate launch, ft_launcher
// or plain python, after srun, mpirun, env, nohup, uv run and the like. nullopt: words that start no Python program.
std::optional<LaunchCommand> launch_command(std::span<const ArgumentWord> words);

// Returns the command with the nodes and GPUs that options of torchrun state, for a program that takes these itself.
LaunchCommand machine_of(std::span<const ArgumentWord> options, LaunchCommand command);

}  // namespace mirfak
