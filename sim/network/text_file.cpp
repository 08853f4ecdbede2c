#include "network/text_file.hpp"

#include "base/read_files.hpp"

#include <fmt/format.h>

#include <fstream>
#include <sstream>

namespace mirfak {

std::string text_of_file(const std::filesystem::path& path, const Location& asked_at) {
  std::error_code ignored;
  std::ifstream in(path, std::ios::binary);
  if (!std::filesystem::is_regular_file(path, ignored) || !in) {
    fail_input(asked_at, fmt::format("there is no file {} that can be read", path.string()),
               "paths are relative to the file that states them");
  }
  note_read_file(path);
  std::stringstream buffer;
  buffer << in.rdbuf();
  return buffer.str();
}

}  // namespace mirfak
