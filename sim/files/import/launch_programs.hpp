#pragma once

#include "import/import_formats.hpp"
#include "import/launch_command.hpp"

#include <span>
#include <string_view>

namespace mirfak {

// A reader of this folder for the options of certain programs.
struct ProgramReader {
  std::string_view reader;  // name in programs.yaml
  // Reads the arguments, which are settings of the draft, and variables of the environment ("$NCCL_ALGO"). `files`: the
  // files that the script writes, and those that were given with it.
  void (*read)(ImportDraft& draft, const LaunchCommand& launch, std::span<const ImportFile> files,
               const ImportContext& context);
};

// Returns the reader of a launch's program, found by the program's identity, else by several options that are typical
// of such a program; nullptr if there is no reader, or the program trains nothing. A new reader is a line in
// launch_programs.cpp.
const ProgramReader* program_of_launch(const LaunchCommand& launch, const ScenarioSources& sources);

// Reads a launch into the draft. Anything that its program does beyond the training of a language model is an obstacle.
void read_launch(const ProgramReader& program, ImportDraft& draft, const LaunchCommand& launch,
                 std::span<const ImportFile> files, const ImportContext& context);

// Throws Error(input) for a launch that no reader knows; the message names the program that the launch seems to start.
[[noreturn]] void refuse_launch(const LaunchCommand& launch, const ScenarioSources& sources);

}  // namespace mirfak
