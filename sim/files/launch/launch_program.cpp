#include "launch/launch_program.hpp"

#include "base/text.hpp"

#include <cctype>

namespace mirfak {

std::string shell_word(const std::string& word) {
  constexpr std::string_view plain = "_-./:=,+@%^";
  bool quoted = word.empty();
  for (const char sign : word) {
    const bool usual =
        std::isalnum(static_cast<unsigned char>(sign)) != 0 || plain.find(sign) != std::string_view::npos;
    quoted = quoted || !usual;
  }
  return quoted ? shell_quoted(word) : word;
}

std::string shell_text(const LaunchOption& option) {
  if (option.joined) return shell_word(option.name + "=" + option.words.front());
  std::string out = option.name;
  for (const std::string& word : option.words) out += " " + shell_word(word);
  return out;
}

std::string shell_lines(const LaunchOptions& options, std::string_view indent) {
  std::string out;
  for (const LaunchOption& option : options.all()) out += fmt::format("{}{}\n", indent, shell_text(option));
  return out;
}

std::string comment_lines(const std::vector<std::string>& comments) {
  std::string out;
  for (const std::string& comment : comments) out += fmt::format("# {}\n", comment);
  return out;
}

}  // namespace mirfak
