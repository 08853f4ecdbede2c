#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace mirfak {

// The use that a command, or a function of Python, makes of a file that its arguments name.
enum class FileRole {
  input,
  output,        // created or replaced
  update,        // replaced by a text that was made from the old one
  later_output,  // created in a place or by a process that only the command itself knows: not tried beforehand
  as_added       // the role follows from other arguments
};

struct FileArgument {
  FileRole role = FileRole::input;
  std::string label;  // "--trace", "the plot of --report", "the argument"
  std::filesystem::path path;
};

// Throws Error(input) if an output is also an input or another output, by whatever path or link, or if an output cannot
// be written (check_writable). Reads no file and changes none.
void check_files(std::span<const FileArgument> files);

}  // namespace mirfak
