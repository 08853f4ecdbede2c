#pragma once

#include "import/import_formats.hpp"
#include "import/launch_command.hpp"
#include "import/launch_programs.hpp"
#include "import/shell_script.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace mirfak {

// A training that a script starts, and all that the script does besides.
struct ScriptLaunch {
  ShellRun run;
  std::vector<LaunchCommand> launches;  // commands that start a program of Python
  std::vector<std::size_t> commands;    // of `launches`: their places in run.commands
  std::size_t chosen = 0;               // the training, in `launches`
  const ProgramReader* program = nullptr;

  LaunchCommand& launch() { return launches[chosen]; }
  const LaunchCommand& launch() const { return launches[chosen]; }
  const ShellCommand& command() const { return run.commands[commands[chosen]]; }
};

// Interprets a script, the first of `files`, and chooses the training that --launch names, else the first training
// whose program a reader knows. Error(input) for a script without a training, or whose program no reader knows.
ScriptLaunch script_launch(std::span<const ImportFile> files, const ImportContext& context);

}  // namespace mirfak
