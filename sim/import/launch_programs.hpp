#pragma once

#include "import/import_formats.hpp"
#include "import/launch_command.hpp"

#include <span>
#include <string_view>

namespace mirfak {

// A training program by its command line, which a script starts.
struct LaunchProgram {
  std::string_view name;
  bool (*recognises)(const LaunchCommand& launch);
  // Understands the arguments, which are settings of the draft, and variables of the environment ("$NCCL_ALGO").
  // `files`: those that the script writes, and those that were given beside it.
  void (*read)(ImportDraft& draft, const LaunchCommand& launch, std::span<const ImportFile> files,
               const ImportContext& context);
};

// The first that recognises a launch; nullptr: none does. A new program is a line in launch_programs.cpp.
const LaunchProgram* program_of_launch(const LaunchCommand& launch);

}  // namespace mirfak
