// Scripts that complete mirfak's command line, made from the commands' own options.

#include "base/text.hpp"
#include "cli/command_descriptions.hpp"
#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "strategy/strategy_keys.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

namespace {

std::string replaced(std::string text, std::string_view what, std::string_view by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size()) {
    text.replace(at, what.size(), by);
  }
  return text;
}

std::vector<std::string> option_words(const CommandDescription& command) {
  std::vector<std::string> out;
  for (const OptionDescription& option : command.options) out.push_back("--" + option.name);
  return out;
}

std::vector<std::string> keys_of_set() {
  std::vector<std::string> out;
  for (const StrategyKey& key : strategy_keys()) out.push_back(fmt::format("strategy.{}=", key.key));
  return out;
}

// Returns the accepted values of an option; empty: any value.
std::vector<std::string> values_of(const OptionDescription& option) {
  return option.name == "set" ? keys_of_set() : option.choices();
}

std::string bash_values(const CommandDescription& command) {
  std::string out;
  for (const OptionDescription& option : command.options) {
    const std::vector<std::string> choices = option.choices();
    if (option.name == "set") {
      out += fmt::format("        {}.--set) words=$keys ;;\n", command.name);
    } else if (!choices.empty()) {
      out += fmt::format("        {}.--{}) words={} ;;\n", command.name, option.name,
                         shell_quoted(fmt::format("{}", fmt::join(choices, " "))));
    } else if (!option.value.empty() && !option.file) {
      out += fmt::format("        {}.--{}) return ;;\n", command.name, option.name);
    } else if (option.file) {
      out += fmt::format("        {}.--{}) COMPREPLY=($(compgen -f -- \"$word\")); return ;;\n", command.name,
                         option.name);
    }
  }
  return out;
}

std::string bash_script(const std::vector<CommandDescription>& all) {
  std::vector<std::string> names;
  for (const CommandDescription& command : all) names.push_back(command.name);
  std::string out = fmt::format(
      "# bash completion of mirfak: source this file, or put it where bash-completion looks, as mirfak.\n"
      "_mirfak() {{\n"
      "    local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} command=${{COMP_WORDS[1]}} "
      "words=\n"
      "    local keys={}\n"
      "    COMPREPLY=()\n"
      "    if ((COMP_CWORD == 1)); then\n"
      "        COMPREPLY=($(compgen -W {} -- \"$word\"))\n"
      "        return\n"
      "    fi\n"
      "    case $command.$before in\n",
      shell_quoted(fmt::format("{}", fmt::join(keys_of_set(), " "))),
      shell_quoted(fmt::format("{} --help --version", fmt::join(names, " "))));
  for (const CommandDescription& command : all) out += bash_values(command);
  out += "    esac\n    if [[ -z $words && $word == -* ]]; then\n        case $command in\n";
  for (const CommandDescription& command : all) {
    out += fmt::format("            {}) words={} ;;\n", command.name,
                       shell_quoted(fmt::format("{}", fmt::join(option_words(command), " "))));
  }
  out += "        esac\n    elif [[ -z $words ]] && ((COMP_CWORD == 2)); then\n        case $command in\n";
  for (const CommandDescription& command : all) {
    const std::vector<std::string> operands = command.operand_choices();
    if (operands.empty()) continue;
    out += fmt::format("            {}) words={} ;;\n", command.name,
                       shell_quoted(fmt::format("{}", fmt::join(operands, " "))));
  }
  return out +
         "        esac\n    fi\n"
         "    if [[ -n $words ]]; then\n"
         "        COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
         "        [[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null\n"
         "    else\n"
         "        COMPREPLY=($(compgen -f -- \"$word\"))\n"
         "    fi\n"
         "}\n"
         "complete -o filenames -F _mirfak mirfak\n";
}

// Returns the value of an option as zsh shows and completes it: ":FILE.json:_files".
std::string zsh_value(const OptionDescription& option) {
  if (option.value.empty()) return "";
  const std::vector<std::string> choices = values_of(option);
  const std::string label = replaced(option.value, ":", "\\:");
  if (!choices.empty()) return fmt::format(":{}:({})", label, fmt::join(choices, " "));
  return fmt::format(":{}:{}", label, option.file ? "_files" : " ");
}

std::string zsh_sentence(std::string text) {
  for (const std::string_view sign : {"\\", "[", "]", ":"}) text = replaced(text, sign, "\\" + std::string(sign));
  return text;
}

std::string zsh_script(const std::vector<CommandDescription>& all) {
  std::string out =
      "#compdef mirfak\n"
      "# zsh completion of mirfak: put this file into a folder of $fpath, as _mirfak.\n"
      "_mirfak() {\n"
      "    local -a commands\n    commands=(\n";
  for (const CommandDescription& command : all) {
    out += fmt::format("        {}\n", shell_quoted(command.name + ":" + zsh_sentence(command.sentence)));
  }
  out +=
      "    )\n    if ((CURRENT == 2)); then\n        _describe command commands\n        return\n    fi\n"
      "    case $words[2] in\n";
  for (const CommandDescription& command : all) {
    out += fmt::format("        {})\n            shift words; ((CURRENT--))\n            _arguments", command.name);
    for (const OptionDescription& option : command.options) {
      out += fmt::format(
          " \\\n                {}",
          shell_quoted(fmt::format("*--{}[{}]{}", option.name, zsh_sentence(option.sentence), zsh_value(option))));
    }
    const std::vector<std::string> operands = command.operand_choices();
    out += operands.empty() ? " \\\n                '*:file:_files' ;;\n"
                            : fmt::format(" \\\n                '1:what:({})' ;;\n", fmt::join(operands, " "));
  }
  return out + "    esac\n}\n_mirfak \"$@\"\n";
}

std::string fish_script(const std::vector<CommandDescription>& all) {
  std::string out = "# fish completion of mirfak: put this file into ~/.config/fish/completions, as mirfak.fish.\n";
  for (const CommandDescription& command : all) {
    out += fmt::format("complete -c mirfak -f -n __fish_use_subcommand -a {} -d {}\n", command.name,
                       shell_quoted(command.sentence));
  }
  for (const CommandDescription& command : all) {
    const std::string where = fmt::format("complete -c mirfak -n '__fish_seen_subcommand_from {}'", command.name);
    const std::vector<std::string> operands = command.operand_choices();
    if (!operands.empty())
      out += fmt::format("{} -f -a {}\n", where, shell_quoted(fmt::format("{}", fmt::join(operands, " "))));
    for (const OptionDescription& option : command.options) {
      const std::vector<std::string> choices = values_of(option);
      out += fmt::format("{} -l {}", where, option.name);
      if (!choices.empty()) {
        out += fmt::format(" -x -a {}", shell_quoted(fmt::format("{}", fmt::join(choices, " "))));
      } else if (!option.value.empty()) {
        out += option.file ? " -r -F" : " -x";
      }
      out += fmt::format(" -d {}\n", shell_quoted(option.sentence));
    }
  }
  return out;
}

struct Shell {
  std::string_view name;
  std::string (*script)(const std::vector<CommandDescription>&);
};
constexpr std::array kShells = {Shell{"bash", bash_script}, Shell{"zsh", zsh_script}, Shell{"fish", fish_script}};

}  // namespace

CommandOutput run_completion(std::span<const std::string> arguments, const Surroundings& /*surroundings*/) {
  std::string shell;
  std::vector<std::string> names;
  for (const Shell& known : kShells) names.emplace_back(known.name);
  CommandSyntax syntax(fmt::format("mirfak completion {}", fmt::join(names, "|")),
                       "Prints a script that completes mirfak's commands, options and their values in a shell.");
  syntax.operand = &shell;
  if (const auto help = read_arguments(syntax, arguments)) return {*help, {}};
  return {kShells.at(choice("completion", shell, names)).script(command_descriptions()), {}};
}

}  // namespace mirfak
