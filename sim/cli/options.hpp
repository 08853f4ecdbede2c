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

// What --stages and --microbatches may be, of every command.
inline constexpr int kMaxStages = 4096;
inline constexpr int kMaxMicrobatches = 1'000'000;

// What a command takes. Its options write to variables of the command.
struct CommandSyntax {
  explicit CommandSyntax(std::string usage_line, std::string purpose_text);

  std::string usage;    // "mirfak simulate SCENARIO [OPTION]..."
  std::string purpose;  // a few lines
  boost::program_options::options_description options;
  std::string* operand = nullptr;  // where the one argument that is no option goes; nullptr: the command takes none
  std::vector<std::string>* operands = nullptr;         // where one or more such arguments go, instead
  std::vector<const std::string*> instead_of_operands;  // options' values: where one is given, none is needed

  // An option that names a file. All such options are declared so: read_arguments() fails for one that is not.
  void add_file(FileRole role, const char* name, std::string& path, const char* value, const char* sentence);
  // ... that may be given several times.
  void add_files(FileRole role, const char* name, std::vector<std::string>& paths, const char* value,
                 const char* sentence);
  // Adds what follows from the options: a plot beside a report, files in a folder.
  std::function<void(std::vector<FileArgument>&)> more_files;

  struct FileOption {
    FileRole role;
    std::string name;
    std::function<std::vector<std::string>()> given;  // without empty ones
  };
  std::vector<FileOption> file_options;
};

// Reads arguments into the variables of the options. Returns the help text, defaults included, if the arguments ask
// for help: nothing is read then. Throws Error(input) for what the command does not take, with the nearest option, for
// a missing operand, and as check_files() says for the files among them; operands that are files are inputs.
std::optional<std::string> read_arguments(const CommandSyntax& syntax, std::span<const std::string> arguments);

// While one lives, read_arguments() of this thread hands over what commands take and reads nothing: it returns an
// empty text, as if help was asked for.
class SyntaxObserver {
 public:
  explicit SyntaxObserver(std::function<void(const CommandSyntax&)> visit);
  ~SyntaxObserver();
  SyntaxObserver(const SyntaxObserver&) = delete;
  SyntaxObserver& operator=(const SyntaxObserver&) = delete;
};

// The index of `value` in `names`. Throws Error(input) naming the option or operand and the nearest choice.
std::size_t choice(std::string_view option, const std::string& value, std::span<const std::string> names);

// What --format takes.
enum class OutputFormat { text, json, csv };
OutputFormat format_choice(const std::string& value);         // text or json
OutputFormat format_or_csv_choice(const std::string& value);  // ... or csv

}  // namespace mirfak
