#pragma once

#include "engine/iteration.hpp"
#include "scenario/scenario.hpp"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace mirfak {

// GPT-3 2.7B on two nodes of eight GPUs, tp 2, pp 4, two chunks a stage, dp 2, 8 microbatches, `overrides` applied.
struct Example {
  Scenario scenario;
  std::unique_ptr<Simulation> simulation;
};
Example example(const std::vector<std::string>& overrides = {}, const LoweringOptions& options = {});

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
