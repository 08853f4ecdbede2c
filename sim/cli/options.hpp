#pragma once

#include <boost/program_options.hpp>

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
  std::vector<std::string>* operands = nullptr;  // where one or more such arguments go, instead
};

// Reads arguments into the variables of the options. Returns the help text, defaults included, if the arguments ask
// for help: nothing is read then. Throws Error(input) for what the command does not take, with the nearest option, and
// for a missing operand.
std::optional<std::string> read_arguments(const CommandSyntax& syntax, std::span<const std::string> arguments);

// The index of `value` in `names`. Throws Error(input) naming the option or operand and the nearest choice.
std::size_t choice(std::string_view option, const std::string& value, std::span<const std::string> names);

// What --format takes.
enum class OutputFormat { text, json };
OutputFormat format_choice(const std::string& value);

}  // namespace mirfak
