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
  // Error(input) if the file is missing or does not follow hw_profiles/launch/README.md.
  OptionList(const std::filesystem::path& hardware, std::string_view name);

  // Returns "NVIDIA/Megatron-LM core_v0.19.0 (5be9626): arguments of pretrain_gpt.py".
  const std::string& title() const { return title_; }

  bool has(std::string_view option) const { return options_.find(option) != options_.end(); }
  // Throws Error(internal) if the project has no such option, or the option takes none of these words: the written
  // option was never in the project's sources.
  void require(std::string_view option, const std::vector<std::string>& words) const;
  void require(const LaunchOptions& options) const;

 private:
  std::string file_;
  std::string title_;
  std::map<std::string, std::vector<std::string>, std::less<>> options_;  // names with the words they take; empty: any
};

}  // namespace mirfak
