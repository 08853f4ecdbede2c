#include "network/text_file.hpp"

#include "base/input_file.hpp"

namespace mirfak {

std::string text_of_file(const std::filesystem::path& path, const Location& asked_at) {
  return read_input_file(path, kNetworkFile, asked_at, "paths are relative to the file that states them");
}

}  // namespace mirfak
