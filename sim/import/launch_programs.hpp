#pragma once

#include "import/import_formats.hpp"
#include "import/launch_command.hpp"

#include <span>
#include <string_view>

namespace mirfak {

// Programs whose options a reader of this room understands.
struct ProgramReader {
  std::string_view reader;  // as programs.yaml calls it
  // Understands the arguments, which are settings of the draft, and variables of the environment ("$NCCL_ALGO").
  // `files`: those that the script writes, and those that were given beside it.
  void (*read)(ImportDraft& draft, const LaunchCommand& launch, std::span<const ImportFile> files,
               const ImportContext& context);
};

// The reader of a launch's program, by what it is, else by options of which such a program has several; nullptr: there
// is none, or it trains nothing. A new reader is a line in launch_programs.cpp.
const ProgramReader* program_of_launch(const LaunchCommand& launch, const ScenarioSources& sources);

// Reads a launch into the draft. What its program does beyond the training of a language model is an obstacle.
void read_launch(const ProgramReader& program, ImportDraft& draft, const LaunchCommand& launch,
                 std::span<const ImportFile> files, const ImportContext& context);

// Error(input) for a launch that no reader knows, with what it seems to be.
[[noreturn]] void refuse_launch(const LaunchCommand& launch, const ScenarioSources& sources);

}  // namespace mirfak
