#pragma once

#include "import/import_draft.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// Bytes of a word that stand next to each other in a file.
struct WrittenPart {
  Location where;  // place of the first byte; not known for bytes that no file holds, such as those of --env
  std::size_t size = 0;
};

// One word of a command line, with its place in the file that it comes from.
struct ArgumentWord {
  std::string text;
  Location where;
  // Names of the unknown values on which this word depends. A word that consists only of an unknown value is empty
  // here; the word is absent altogether if the value is empty and stands without quotes.
  std::vector<std::string> missing = {};
  bool vanishes = false;                // the shell drops the word, because nothing in the word is set
  std::vector<WrittenPart> parts = {};  // places of all bytes of the text, in their order
};

// Returns how a user states values that are not known (ArgumentWord::missing): variables by --env, a script's
// parameters by --arg. The output of a command can only be written in place of the command.
std::string way_to_state(const std::vector<std::string>& missing);

// Adds a byte of a file to the parts of a word.
void add_part(std::vector<WrittenPart>& parts, const Location& where);

// The last part of a path: the name of a program, wherever it lies.
std::string base_name(std::string_view path);

// Returns options with the words that follow them, as argparse takes them: "--name value...", "--name=value", "--flag".
// The names become those of megatron_option_name(). Words before the first option are skipped.
std::vector<Setting> settings_of_arguments(std::span<const ArgumentWord> words);

// Splits a text into words: blanks and line ends separate words, quotes keep a word together and are removed, # begins
// a comment, and a backslash at the end of a line means nothing. Error(input) for an open quote.
std::vector<ArgumentWord> words_of_text(std::string_view text, const std::string& name);

// Returns the value of key=VALUE as OmegaConf takes it: a list or a mapping in brackets, nothing for null and None,
// else a word. Error(input) at `where`
// for brackets that do not close.
Value override_value(std::string_view text, const Location& where);

// Returns the setting of KEY=VALUE, or +KEY=VALUE, which Hydra takes for keys that a file does not have. Error(input)
// for another word.
Setting setting_of_change(const ArgumentWord& word);

}  // namespace mirfak
