#pragma once

#include "launch/launch_program.hpp"

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// The option names of a project, as its own sources list them: hw_profiles/launch/options/NAME.yaml.
class OptionList {
 public:
  // Error(input) where the file is missing or not as hw_profiles/launch/README.md says.
  OptionList(const std::filesystem::path& hardware, std::string_view name);

  // "NVIDIA/Megatron-LM core_v0.19.0 (5be9626): arguments of pretrain_gpt.py"
  const std::string& title() const { return title_; }

  bool has(std::string_view option) const { return options_.find(option) != options_.end(); }
  // Error(internal) where the project has no such option, or it takes none of these words: what is written was never
  // in its sources.
  void require(std::string_view option, const std::vector<std::string>& words) const;
  void require(const LaunchOptions& options) const;

 private:
  std::string file_;
  std::string title_;
  std::map<std::string, std::vector<std::string>, std::less<>> options_;  // with the words they take; empty: any
};

}  // namespace mirfak
