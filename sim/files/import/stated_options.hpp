#pragma once

#include "import/argument_words.hpp"
#include "launch/launch_program.hpp"
#include "launch/option_list.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// The way in which a program's parser makes options of words.
enum class OptionParser : std::uint8_t {
  argparse,  // --name value..., --name=value, --flag; hyphens and underscores are alike, and the last of a name counts
  tyro,      // the same with sections: --section.name value, --section.flag, --section.no-flag, and NAME:WORD after all
  hydra      // argparse's, and overrides: name=value, ++name=value
};

// An option that the words of a command state.
struct StatedOption {
  std::string name;                 // the name by which options are compared: StatedOptions::name_of()
  std::vector<std::string> values;  // words after the name; of a flag of tyro "true" or "false"
  std::size_t first = 0;            // the word with the name
  std::size_t count = 1;            // words of the command
  bool joined = false;              // name and value are one word
};

// The options of a program: one name for all spellings of an option.
class OptionNames {
 public:
  OptionNames(OptionParser parser, const OptionList& list);

  // Returns the options that words state, in their order; words before the first option are none.
  std::vector<StatedOption> stated(std::span<const ArgumentWord> words) const;
  // Returns the option that a writer makes.
  StatedOption stated(const LaunchOption& option) const;
  // Returns the place of an option in the order in which a writer writes options; behind all others for an unknown
  // name.
  std::size_t place(const std::string& name) const;

 private:
  std::string name_of(std::string_view word) const;
  bool begins_option(const std::string& word) const;
  bool is_subcommand(std::string_view word) const;
  void complete(StatedOption& option, std::string_view word) const;

  OptionParser parser_;
  std::map<std::string, std::string, std::less<>> current_;  // older names and the names that the list has for them
  std::map<std::string, std::size_t, std::less<>> places_;
};

}  // namespace mirfak
