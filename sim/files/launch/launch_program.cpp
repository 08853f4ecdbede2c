#include "launch/launch_program.hpp"

#include "base/text.hpp"

#include <array>
#include <cctype>

namespace mirfak {

namespace {

std::string yaml_word(const std::string& word) {
  constexpr std::array<std::string_view, 8> truths = {"no", "yes", "off", "on", "NO", "YES", "OFF", "ON"};
  const bool truth = std::find(truths.begin(), truths.end(), word) != truths.end();
  return truth ? fmt::format("'{}'", word) : word;
}

}  // namespace

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

std::string yaml_text(const LaunchOptions& settings) {
  std::string out;
  std::vector<std::string> sections;
  for (const LaunchOption& setting : settings.all()) {
    const std::size_t dot = setting.name.find('.');
    if (dot == std::string::npos) out += fmt::format("{}: {}\n", setting.name, yaml_word(setting.words.front()));
    const std::string section = dot == std::string::npos ? "" : setting.name.substr(0, dot);
    const bool known = std::find(sections.begin(), sections.end(), section) != sections.end();
    if (!known && !section.empty()) sections.push_back(section);
  }
  for (const std::string& section : sections) {
    out += fmt::format("{}:\n", section);
    for (const LaunchOption& setting : settings.all()) {
      if (!setting.name.starts_with(section + ".")) continue;
      out += fmt::format("  {}: {}\n", setting.name.substr(section.size() + 1), yaml_word(setting.words.front()));
    }
  }
  return out;
}

std::string comment_lines(const std::vector<std::string>& comments) {
  std::string out;
  for (const std::string& comment : comments) out += fmt::format("# {}\n", comment);
  return out;
}

}  // namespace mirfak
