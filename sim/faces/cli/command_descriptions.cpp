#include "cli/command_descriptions.hpp"

#include "cli/options.hpp"
#include "launch/launch_arguments.hpp"

#include <algorithm>
#include <cctype>
#include <sstream>

namespace mirfak {

namespace {

// Returns both words of "text|json"; nothing for placeholders such as "NAME|FILE".
std::vector<std::string> words_between_bars(const std::string& text) {
  if (text.find('|') == std::string::npos) return {};
  const bool stands_for_others =
      std::any_of(text.begin(), text.end(), [](unsigned char c) { return std::isupper(c) != 0 || c == '.'; });
  if (stands_for_others) return {};
  std::vector<std::string> out;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, '|');) out.push_back(word);
  return out;
}

// Splits "text|json (=text)", as Boost writes the name of a value and its default.
void split_value(const std::string& shown, OptionDescription& into) {
  const std::size_t open = shown.find(" (=");
  into.value = shown.substr(0, open);
  if (open != std::string::npos) into.fallback = shown.substr(open + 3, shown.size() - open - 4);
}

CommandDescription description_of(const Command& command) {
  CommandDescription out;
  out.name = command.name;
  out.sentence = command.sentence;
  const SyntaxObserver observer([&](const CommandSyntax& syntax) {
    out.usage = syntax.usage;
    out.purpose = syntax.purpose;
    for (const auto& option : syntax.options.options()) {
      OptionDescription& described = out.options.emplace_back();
      described.name = option->long_name();
      described.sentence = option->description();
      if (option->semantic()->max_tokens() > 0) split_value(option->semantic()->name(), described);
      if (described.name == "emit") described.words = launch_target_names();
      described.file =
          described.value == "FOLDER" || std::any_of(syntax.file_options.begin(), syntax.file_options.end(),
                                                     [&](const auto& file) { return file.name == described.name; });
    }
  });
  command.run({}, {});
  return out;
}

}  // namespace

std::vector<std::string> OptionDescription::choices() const {
  return words.empty() ? words_between_bars(value) : words;
}

std::vector<std::string> CommandDescription::operand_choices() const {
  std::istringstream words(usage);
  std::string word;
  words >> word >> word;  // reads over the program and the command
  return words >> word ? words_between_bars(word) : std::vector<std::string>{};
}

std::vector<CommandDescription> command_descriptions() {
  std::vector<CommandDescription> out;
  for (const Command& command : commands()) out.push_back(description_of(command));
  return out;
}

}  // namespace mirfak
