#pragma once

#include "launch/launch_program.hpp"
#include "launch/option_entry.hpp"

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// The options of a project, as its own sources define them, with their meanings: hw_profiles/launch/options/NAME.yaml.
class OptionList {
 public:
  OptionList() = default;
  // Error(input) if the file is missing or does not follow hw_profiles/launch/README.md.
  OptionList(const std::filesystem::path& hardware, std::string_view name);

  // Returns "NVIDIA/Megatron-LM core_v0.19.0 (5be9626): arguments of pretrain_gpt.py".
  const std::string& title() const { return title_; }

  // Returns all options in the order of the list, which is the order in which they are written.
  const std::vector<OptionEntry>& entries() const { return entries_; }
  const OptionEntry* find(std::string_view option) const;  // nullptr: not in the list
  std::size_t place(std::string_view option) const;        // in the order of the list; unknown options come last
  const std::vector<OptionRefusal>& refusals() const { return refusals_; }

  // True for an option that may be written.
  bool has(std::string_view option) const;
  // Throws Error(internal) if the project has no such option, or the option takes none of these words: the written
  // option was never in the project's sources.
  void require(std::string_view option, const std::vector<std::string>& words) const;
  void require(const LaunchOptions& options) const;

 private:
  void add(OptionEntry entry);

  std::string file_;
  std::string title_;
  std::vector<OptionEntry> entries_;
  std::vector<OptionRefusal> refusals_;
  std::map<std::string, std::size_t, std::less<>> places_;  // of the entries, by their names
};

// Returns hw_profiles/launch/NAME.yaml, which is read once. Error(input) if there is no such file.
const Document& launch_facts(const std::filesystem::path& hardware, std::string_view name);

// Returns the list of a project, which is read once.
const OptionList& option_list(const std::filesystem::path& hardware, std::string_view name);

}  // namespace mirfak
