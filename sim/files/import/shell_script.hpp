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
  Location where;                       // place of its assignment; not known if the script does not assign it
  std::vector<WrittenPart> parts = {};  // places of the value's bytes
};

// A command that a script would run, with its words as bash would pass them.
struct ShellCommand {
  std::vector<ArgumentWord> words;                 // words that vanish (nothing set in them) are marked
  std::map<std::string, ShellExport> environment;  // variables exported to the command
  Location where;
  Location last;          // place of the last byte of the command's last word, as the script writes the command
  bool captured = false;  // its output is used: $( )
};

struct ShellNote {
  Location where;
  std::string text;
};

// The effects of running a script.
struct ShellRun {
  std::vector<ShellCommand> commands;  // in order; without builtins and programs that start no other program
  std::vector<std::pair<std::string, std::string>> files;  // written files: cat > name << END, echo >> name, cp
  std::vector<ShellNote> notes;                            // assumptions and open decisions
  std::vector<ShellNote> absent;                           // missing files that the script reads
  std::optional<Location> ended;                           // place of the `exit` that ended the script
};

// A file that a script reads.
struct ShellFile {
  std::string name;
  std::string text;
  bool elsewhere = false;  // from another folder than the script names: only the file's own name is the same
};

struct ShellSetup {
  std::map<std::string, std::string> environment;  // variables that are set before the start
  std::vector<std::string> parameters;             // $1, $2, ...
  ShellPrograms programs = {};
  // Finds a file that the script reads with `source` or runs, by the script's path for it.
  std::function<std::optional<ShellFile>(const std::string&)> find_file;
};

// Interprets a bash script without executing anything: outputs of commands are not known, except those of echo, printf
// and a few others, and no file exists. Conditions that depend on unknown values are taken as false, with a note. An
// unset variable is empty, as in bash, and words that depend on it name it (ArgumentWord::missing). Error(input) at its
// place for syntax that is not understood, and for scripts that exceed a bounded number of steps.
ShellRun run_shell(const std::string& name, const std::string& text, const ShellSetup& setup);

}  // namespace mirfak
