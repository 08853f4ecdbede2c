#pragma once

#include "import/shell_interpreter.hpp"
#include "import/shell_text.hpp"

#include <optional>
#include <regex>
#include <vector>

namespace mirfak {

// One s/PATTERN/REPLACEMENT/ of sed.
struct ShellSubstitution {
  // A part of the replacement: a text, or what a group of the pattern matched (0: the whole match).
  struct Part {
    std::optional<std::size_t> group;
    ShellText text;
  };
  std::regex pattern;
  std::vector<Part> replacement;
  bool all = false;  // the flag g
};

// A use of sed that substitutes.
struct ShellSubstitutions {
  std::vector<ShellSubstitution> list;
  std::vector<ShellText> files;  // empty: it reads its input
  bool in_place = false;         // -i
};

// Reads the words of sed: scripts of s commands with the flag g or none, in basic or (-E, -r) extended expressions
// without GNU's own escapes. nullopt: another use.
std::optional<ShellSubstitutions> substitutions_of(const std::vector<ShellField>& fields);

// Substitutes in each line of a text. Bytes keep their places: those of a replacement come from the words of sed.
// nullopt: a line is too long to be searched.
std::optional<ShellText> substituted(const ShellText& input, const ShellSubstitutions& by);

}  // namespace mirfak
