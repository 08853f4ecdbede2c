#pragma once

#include "import/import_draft.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// One word of a command line, with its place in the file that it comes from.
struct ArgumentWord {
  std::string text;
  Location where;
  // What its value hangs on and nobody says. A word that is nothing but such a value is empty here, and is not there at
  // all if the value is empty and stands without quotes.
  std::vector<std::string> missing = {};
  bool vanishes = false;  // the shell leaves it out, as nothing that it consists of is set
};

// The last part of a path: the name of a program, wherever it lies.
std::string base_name(std::string_view path);

// Options with what stands behind them, as argparse takes them: "--name value...", "--name=value", "--flag". Names
// become those of megatron_option_name(). Words in front of the first option are passed over.
std::vector<Setting> settings_of_arguments(std::span<const ArgumentWord> words);

// The words of a text: blanks and line ends part them, quotes keep them together and are taken off, # begins a comment,
// a backslash at the end of a line means nothing. Error(input) for an open quote.
std::vector<ArgumentWord> words_of_text(std::string_view text, const std::string& name);

}  // namespace mirfak
