#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace mirfak {

// An empty folder that goes with the value.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const char* name) const { return path_ / name; }
  std::vector<std::string> files() const;  // names, sorted

 private:
  std::filesystem::path path_;
};

std::string read_text_file(const std::filesystem::path& path);

}  // namespace mirfak
