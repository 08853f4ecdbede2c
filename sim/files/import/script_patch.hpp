#pragma once

#include "import/import_formats.hpp"
#include "import/shell_script.hpp"
#include "import/stated_options.hpp"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace mirfak {

// The options and variables that the command of a training shall have.
struct CommandPromise {
  struct Option {
    std::string name;                    // as StatedOption::name
    std::optional<LaunchOption> option;  // nullopt: the command shall not state the option
  };
  std::vector<Option> options;                     // all other options keep what they state
  std::map<std::string, std::string> environment;  // variables that the command shall have
  std::vector<std::string> unset;                  // variables that the command shall not have
};

// The command of a training in a file, and the rest of what the file does.
struct CommandReading {
  std::vector<ArgumentWord> arguments;
  std::map<std::string, ShellExport> environment;
  std::string others;  // all other words that programs are started with: a patch keeps them
  Location last;       // last byte of the command; not known: the file is a list of arguments
  Location program;
};

struct ScriptPatch {
  std::string text;                // the new file
  std::vector<std::string> edits;  // a line for each change, with its place in the new file
};

// Changes options of a training where a file writes them, and keeps all else of the file. Each change is made at the
// first of these places at which exactly the promised options change, as reading the new file again shows:
//   the value, wherever the file writes it: in a variable, a default (${TP:-4}), an array
//   the option, whose value becomes a plain word, if the variable decides something else too, or is computed
//   the end of the command, where an option counts instead of an earlier one
// A new option stands beside the option that is nearest to it in the order of `names`. Error(input) at the option that
// can be changed nowhere in this file, with the reason. `read`: reads the text of the file.
ScriptPatch patch_script(const ImportFile& file, const CommandPromise& promise, const OptionNames& names,
                         const std::function<CommandReading(const std::string& text)>& read);

}  // namespace mirfak
