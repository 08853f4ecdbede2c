#pragma once

#include "cli/commands.hpp"

#include <string>
#include <vector>

namespace mirfak {

// An option of a command, as data for completion and manual pages.
struct OptionDescription {
  std::string name;      // without the dashes
  std::string value;     // the value as help names it: "FILE.json", "text|json", "N"; empty: the option takes no value
  std::string fallback;  // default value as help shows it; empty: none
  std::string sentence;
  bool file = false;                    // the value is the name of a file or folder
  std::vector<std::string> words = {};  // accepted values, if `value` is too short to list them

  std::vector<std::string> choices() const;  // "text" and "json" for "text|json", or `words`; empty: any value
};

struct CommandDescription {
  std::string name;
  std::string sentence;
  std::string usage;    // one line
  std::string purpose;  // a few lines
  std::vector<OptionDescription> options;

  std::vector<std::string> operand_choices() const;  // "models", "gpus" for `mirfak list models|gpus`; empty: any
};

// Returns the descriptions of all commands, in the order of commands().
std::vector<CommandDescription> command_descriptions();

}  // namespace mirfak
