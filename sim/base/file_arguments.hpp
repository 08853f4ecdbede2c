#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace mirfak {

// What a command, or a function of Python, does with a file that its arguments name.
enum class FileRole {
  input,
  output,        // made or replaced
  update,        // replaced by a text that was made from it
  later_output,  // made where, or by a process, that only the command itself knows: not tried beforehand
  as_added       // what it is follows from other arguments
};

struct FileArgument {
  FileRole role = FileRole::input;
  std::string label;  // "--trace", "the plot of --report", "the argument"
  std::filesystem::path path;
};

// Error(input) where an output is an input or another output, by whatever path or link, and where one cannot be
// written (check_writable). Nothing is read, and no file changes.
void check_files(std::span<const FileArgument> files);

}  // namespace mirfak
