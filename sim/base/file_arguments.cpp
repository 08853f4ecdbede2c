#include "base/file_arguments.hpp"

#include "base/error.hpp"
#include "base/staged_file.hpp"

#include <fmt/format.h>

namespace mirfak {

namespace {

namespace fs = std::filesystem;

bool is_written(const FileArgument& file) { return file.role != FileRole::input; }

std::string named(const FileArgument& file) { return fmt::format("{} ({})", file.label, file.path.string()); }

void check_not_read(const FileArgument& output, const FileArgument& input) {
  std::error_code unknown;
  if (!fs::exists(input.path, unknown) || !is_same_file(output.path, input.path)) return;
  fail_input({output.path.string(), 0, 0},
             fmt::format("{} would replace this file, and it is an input: {}", output.label, named(input)),
             fmt::format("name another file with {}", output.label));
}

void check_differ(const FileArgument& one, const FileArgument& other) {
  if (!is_same_file(one.path, other.path)) return;
  fail_input({one.path.string(), 0, 0}, fmt::format("this is the file of both {} and {}", named(one), named(other)),
             "name two files");
}

}  // namespace

void check_files(std::span<const FileArgument> files) {
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (!is_written(files[i])) continue;
    for (std::size_t j = 0; j < files.size(); ++j) {
      if (!is_written(files[j])) check_not_read(files[i], files[j]);
      if (is_written(files[j]) && j < i) check_differ(files[j], files[i]);
    }
  }
  for (const FileArgument& file : files) {
    if (file.role == FileRole::output || file.role == FileRole::update) check_writable(file.path);
  }
}

}  // namespace mirfak
