#pragma once

#include "base/file_arguments.hpp"

#include <boost/program_options.hpp>

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// Highest values of --stages and --microbatches, for every command.
inline constexpr int kMaxStages = 4096;
inline constexpr int kMaxMicrobatches = 1'000'000;

// Arguments that a command takes. The options write to variables of the command.
struct CommandSyntax {
  explicit CommandSyntax(std::string usage_line, std::string purpose_text);

  std::string usage;    // "mirfak simulate SCENARIO [OPTION]..."
  std::string purpose;  // a few lines
  boost::program_options::options_description options;
  std::string* operand = nullptr;  // receives the one argument that is no option; nullptr: the command takes none
  bool operand_optional = false;   // true: `operand` may be left out and keeps its value then
  std::vector<std::string>* operands = nullptr;         // receives one or more operands, instead of `operand`
  std::vector<const std::string*> instead_of_operands;  // options that replace operands if they are given

  // Adds an option that names a file. Every option that names files must be added by add_file() or add_files():
  // read_arguments() fails otherwise.
  void add_file(FileRole role, const char* name, std::string& path, const char* value, const char* sentence);
  // Adds an option that names a file and may be given several times.
  void add_files(FileRole role, const char* name, std::vector<std::string>& paths, const char* value,
                 const char* sentence);
  // Adds the files that follow from the options: a plot next to a report, files in a folder.
  std::function<void(std::vector<FileArgument>&)> more_files;

  struct FileOption {
    FileRole role;
    std::string name;
    std::string value;                                // "FILE.h5": its ending says the format that is written
    std::function<std::vector<std::string>()> given;  // values of the option, without empty ones
  };
  std::vector<FileOption> file_options;
};

// Returns the files that the last read_arguments() of this thread named as outputs.
const std::vector<std::string>& named_outputs();

// Reads arguments into the variables of the options. The operand "-" is standard input. An output whose ending stands
// for another format than the written one is Error(input). If the arguments ask for help, reads nothing and returns the
// help text, defaults included. Throws Error(input) for an argument that the command does not take (with the nearest
// option) and for a missing operand, and throws as check_files() does for the files among the arguments. Operands that
// are files are inputs.
std::optional<std::string> read_arguments(const CommandSyntax& syntax, std::span<const std::string> arguments);

// Observer of command syntax. While an observer lives, read_arguments() of its thread hands the command's syntax to
// `visit`, reads nothing, and returns an empty text, as if help was asked for.
class SyntaxObserver {
 public:
  explicit SyntaxObserver(std::function<void(const CommandSyntax&)> visit);
  ~SyntaxObserver();
  SyntaxObserver(const SyntaxObserver&) = delete;
  SyntaxObserver& operator=(const SyntaxObserver&) = delete;
};

// Returns the index of `value` in `names`. Throws Error(input) with the option or operand and the nearest choice.
std::size_t choice(std::string_view option, const std::string& value, std::span<const std::string> names);

// Returns the seconds of a time as options take it: seconds, or a number with a unit, such as "10min" or "500us".
// Returns nothing for any other text.
std::optional<double> seconds_in(std::string_view text);
// Returns the hint for a text that seconds_in() does not read.
std::string hint_on_times();

// Values of --format.
enum class OutputFormat { text, json, csv };
OutputFormat format_choice(const std::string& value);         // text or json
OutputFormat format_or_csv_choice(const std::string& value);  // text, json or csv

}  // namespace mirfak
