#include "import/stated_options.hpp"

#include "import/megatron_settings.hpp"

#include <algorithm>
#include <utility>

namespace mirfak {

namespace {

// Signs with which Hydra adds or replaces an override.
std::string_view without_plus(std::string_view word) {
  return word.substr(std::min(word.find_first_not_of('+'), word.size()));
}

bool is_override(std::string_view word) {
  const std::string_view name = without_plus(word);
  return !name.empty() && !name.starts_with('-') && name.find('=') != std::string_view::npos &&
         name.find_first_of(" /") > name.find('=');
}

}  // namespace

OptionNames::OptionNames(OptionParser parser, const OptionList& list) : parser_(parser) {
  for (const OptionEntry& entry : list.entries()) {
    const std::string name = name_of(entry.name);
    places_.emplace(name, places_.size());
    for (const std::string& older : entry.older) current_.emplace(name_of(older), name);
  }
}

std::string OptionNames::name_of(std::string_view word) const {
  std::string out = megatron_option_name(without_plus(word)).substr(2);
  const auto found = current_.find(out);
  return found == current_.end() ? out : found->second;
}

bool OptionNames::begins_option(const std::string& word) const {
  if (word.size() > 2 && word.starts_with("--")) return true;
  return (parser_ == OptionParser::hydra && is_override(word)) || is_subcommand(word);
}

// True for NAME:WORD, where NAME is an option.
bool OptionNames::is_subcommand(std::string_view word) const {
  const std::size_t colon = word.find(':');
  return parser_ == OptionParser::tyro && !word.starts_with('-') && colon != std::string_view::npos &&
         places_.contains(name_of(word.substr(0, colon)));
}

// Gives a flag of tyro its value.
void OptionNames::complete(StatedOption& option, std::string_view word) const {
  if (is_subcommand(word)) {
    const std::size_t colon = word.find(':');
    option.name = name_of(word.substr(0, colon));
    option.values = {std::string(word.substr(colon + 1))};
  }
  if (parser_ != OptionParser::tyro || !option.values.empty()) return;
  option.values = {"true"};
  const std::size_t section = word.find(".no-");
  const std::size_t no = section == std::string_view::npos ? word.find(".no_") : section;
  if (no == std::string_view::npos) return;
  option.name = name_of(std::string(word.substr(0, no + 1)) + std::string(word.substr(no + 4)));
  option.values = {"false"};
}

std::vector<StatedOption> OptionNames::stated(std::span<const ArgumentWord> words) const {
  std::vector<StatedOption> out;
  std::vector<std::size_t> names;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const ArgumentWord& word = words[i];
    if (!begins_option(word.text)) {
      if (out.empty()) continue;
      out.back().count = i + 1 - out.back().first;
      if (!word.vanishes) out.back().values.push_back(word.text);
      continue;
    }
    const std::size_t equals = word.text.find('=');
    StatedOption option;
    option.first = i;
    option.name = name_of(std::string_view(word.text).substr(0, equals));
    option.joined = equals != std::string::npos;
    if (option.joined) option.values.push_back(word.text.substr(equals + 1));
    out.push_back(std::move(option));
  }
  for (StatedOption& option : out) complete(option, words[option.first].text);
  return out;
}

StatedOption OptionNames::stated(const LaunchOption& option) const {
  StatedOption out;
  out.name = name_of(option.name);
  out.values = option.words;
  out.joined = option.joined;
  out.count = 1 + (option.joined ? 0 : option.words.size());
  complete(out, option.name);
  return out;
}

std::size_t OptionNames::place(const std::string& name) const {
  const auto found = places_.find(name);
  return found == places_.end() ? places_.size() : found->second;
}

}  // namespace mirfak
