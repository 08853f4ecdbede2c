#pragma once

#include "import/argument_words.hpp"
#include "import/shell_programs.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mirfak {

// A variable that a command is started with.
struct ShellExport {
  std::string value;
  Location where;  // of its assignment; not known where the script does not assign it
};

// A command that a script would run, with its words as bash would hand them over.
struct ShellCommand {
  std::vector<ArgumentWord> words;                 // those that vanish (nothing set in them) are marked
  std::map<std::string, ShellExport> environment;  // what is exported to it
  Location where;
  bool captured = false;  // its output is asked for: $( )
};

struct ShellNote {
  Location where;
  std::string text;
};

// What a script would do.
struct ShellRun {
  std::vector<ShellCommand> commands;  // in their order; builtins and programs that start no other are not among them
  std::vector<std::pair<std::string, std::string>> files;  // that it writes: cat > name << END, echo >> name, cp
  std::vector<ShellNote> notes;                            // what was taken for granted or could not be decided
  std::vector<ShellNote> absent;                           // files that it reads and that are not here
  std::optional<Location> ended;                           // where `exit` ended it
};

// A file that a script reads.
struct ShellFile {
  std::string name;
  std::string text;
  bool elsewhere = false;  // in another folder than the script says: only its own name is the same
};

struct ShellSetup {
  std::map<std::string, std::string> environment;  // variables that are set before it starts
  std::vector<std::string> parameters;             // $1, $2, ...
  ShellPrograms programs = {};
  // A file that the script reads with `source` or runs, by the path that it has there.
  std::function<std::optional<ShellFile>(const std::string&)> find_file;
};

// Interprets a script of bash without executing anything: what commands print is not known, except of echo, printf and
// a few others, and no file is there. Conditions that hang on such values are taken as false, with a note. A variable
// that nobody sets is nothing, as in bash, and what hangs on it says so (ArgumentWord::missing). Error(input) with its
// place for what is not understood, and for scripts that take more than a bounded number of steps.
ShellRun run_shell(const std::string& name, const std::string& text, const ShellSetup& setup);

}  // namespace mirfak
