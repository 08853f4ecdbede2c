#pragma once

#include "cli/commands.hpp"

#include <string>
#include <vector>

namespace mirfak {

// What a command takes, as data: for completion and manual pages.
struct OptionDescription {
  std::string name;      // without its dashes
  std::string value;     // what stands behind it: "FILE.json", "text|json", "N"; empty: nothing does
  std::string fallback;  // what holds without it, as help shows it; empty: nothing does
  std::string sentence;
  bool file = false;                    // the value is the name of a file or folder
  std::vector<std::string> words = {};  // that it takes, where `value` is too short to list them

  std::vector<std::string> choices() const;  // "text" and "json" of "text|json", or the words; empty: any value
};

struct CommandDescription {
  std::string name;
  std::string sentence;
  std::string usage;    // one line
  std::string purpose;  // a few lines
  std::vector<OptionDescription> options;

  std::vector<std::string> operand_choices() const;  // of `mirfak list models|gpus`; empty: any operand
};

// Of all commands, in the order of their list.
std::vector<CommandDescription> command_descriptions();

}  // namespace mirfak
