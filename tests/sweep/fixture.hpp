#pragma once

#include "scenario/scenario.hpp"
#include "scenario/sweep_file.hpp"

#include <filesystem>
#include <string>

namespace mirfak::test {

DataFolders data_folders();

// A folder that exists as long as this does.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

std::string bytes_of(const std::filesystem::path& file);

SweepFile sweep_of(const std::string& text);

// 96 points, of which some do not fit, break a rule, or have values that mean nothing.
SweepFile mixed_sweep();

}  // namespace mirfak::test
