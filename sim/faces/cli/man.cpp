// Manual pages, made from the commands' own options. The language is that of man(7).

#include "base/origin.hpp"
#include "cli/command_descriptions.hpp"
#include "cli/commands.hpp"
#include "cli/options.hpp"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

namespace {

// Returns text that roff shows as it is and does not take for requests.
std::string roff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n')) out += "\\&";
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else if (c == '\'')
      out += "\\(aq";
    else if (c == '`')
      out += "\\(ga";
    else if (c == '^')
      out += "\\(ha";
    else if (c == '~')
      out += "\\(ti";
    else
      out += c;
  }
  return out;
}

std::string heading(std::string_view page, std::string_view sentence) {
  return fmt::format(".TH {} 1 \"\" \"mirfak {}\" \"User commands\"\n.SH NAME\n{} \\- {}\n", page, program_version(),
                     roff(page), roff(sentence));
}

// Returns the sections that are the same for all commands.
std::string endings() {
  return ".SH EXIT STATUS\n"
         ".TP\n0\nsuccess\n.TP\n1\ninternal failure\n.TP\n2\ninput that cannot be understood\n"
         ".TP\n3\na job that cannot run\n.TP\n4\nan assertion of the scenario that does not hold\n"
         ".TP\n130\nended by Ctrl\\-C\n"
         ".SH ENVIRONMENT\n.TP\nMIRFAK_DATA\nthe folder that holds models/ and hw_profiles/, where no option says so\n"
         ".TP\nNO_COLOR\nif set, nothing is coloured\n";
}

std::string page_of_program(const std::vector<CommandDescription>& all) {
  std::string out = heading("mirfak", "predicts time, memory, cost and energy of distributed training");
  out +=
      ".SH SYNOPSIS\n.B mirfak\n.I COMMAND\n[\\fIARGUMENT\\fR]...\n"
      ".SH DESCRIPTION\nA discrete\\-event simulator of distributed training on GPU clusters. Every command has a "
      "page\n"
      "of its own, such as\n.BR mirfak\\-simulate (1).\n.SH COMMANDS\n";
  for (const CommandDescription& command : all) {
    out += fmt::format(".TP\n.B {}\n{}\n", roff(command.name), roff(command.sentence));
  }
  return out + endings();
}

std::string page_of_command(const CommandDescription& command) {
  std::string out = heading("mirfak-" + command.name, command.sentence);
  out +=
      fmt::format(".SH SYNOPSIS\n{}\n.SH DESCRIPTION\n{}\n.SH OPTIONS\n", roff(command.usage), roff(command.purpose));
  for (const OptionDescription& option : command.options) {
    out += fmt::format(".TP\n.B {}", roff("--" + option.name));
    if (!option.value.empty()) out += fmt::format("\\fR \\fI{}\\fR", roff(option.value));
    out += "\n" + roff(option.sentence);
    if (!option.fallback.empty()) out += fmt::format(" (default {})", roff(option.fallback));
    out += "\n";
  }
  return out + endings() + ".SH SEE ALSO\n.BR mirfak (1)\n";
}

}  // namespace

CommandOutput run_man(std::span<const std::string> arguments, const Surroundings& /*surroundings*/) {
  std::string page;
  CommandSyntax syntax(
      "mirfak man mirfak|COMMAND",
      "Prints the manual page of the program, or of a command, for man: mirfak man simulate | man -l -");
  syntax.operand = &page;
  if (const auto help = read_arguments(syntax, arguments)) return {*help, {}};
  const std::vector<CommandDescription> all = command_descriptions();
  if (page == "mirfak") return {page_of_program(all), {}};
  std::vector<std::string> names;
  for (const CommandDescription& command : all) names.push_back(command.name);
  return {page_of_command(all[choice("man", page, names)]), {}};
}

}  // namespace mirfak
