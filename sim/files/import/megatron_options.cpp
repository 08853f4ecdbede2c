#include "import/megatron_options.hpp"

#include "base/text.hpp"
#include "import/number_words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace mirfak {

namespace {

std::string without_quotes(std::string_view text) {
  if (text.size() >= 2 && (text.front() == '\'' || text.front() == '"') && text.back() == text.front()) {
    text = text.substr(1, text.size() - 2);
  }
  return std::string(text);
}

// True for paths and names, parts of which may be unknown without harm to the layout.
bool is_path(std::string_view name) {
  constexpr std::array<std::string_view, 6> names = {
      "--data-path",       "--vocab-file", "--tokenizer-type", "--tokenizer-model", "--tokenizer-name-or-path",
      "--deepspeed-config"};
  return std::find(names.begin(), names.end(), name) != names.end();
}

[[noreturn]] void fail_value(const Setting& setting, std::string_view expected) {
  const Location& where = setting.value.where.known() ? setting.value.where : setting.where;
  fail_input(where,
             fmt::format("{}: expected {}, found '{}'", setting.name, expected, excerpt(word_of(setting.value))));
}

}  // namespace

std::vector<std::string> words_of(const Value& value) {
  std::vector<std::string> out;
  if (value.kind == Value::Kind::sequence) {
    for (const Value& item : value.items) {
      for (std::string& word : words_of(item)) out.push_back(std::move(word));
    }
    return out;
  }
  std::string word;
  for (const char letter : value.scalar + " ") {
    const bool between = letter == ' ' || letter == ',' || letter == '[' || letter == ']' || letter == '\t';
    if (!between) word += letter;
    if (between && !word.empty()) out.push_back(without_quotes(std::exchange(word, {})));
  }
  return out;
}

std::string word_of(const Value& value) {
  if (value.kind == Value::Kind::scalar) return without_quotes(value.scalar);
  std::string out;
  for (const Value& item : value.items) out += (out.empty() ? "" : " ") + word_of(item);
  return out;
}

bool says_no(const Value& value) {
  if (value.kind != Value::Kind::scalar) return false;
  const std::string& word = value.scalar;
  return word == "false" || word == "False" || word == "null" || word == "None" || word == "~";
}

const Setting* MegatronOptions::named(const Names& names) {
  std::vector<std::string> dashed;
  dashed.reserve(names.size());
  for (const std::string_view name : names) dashed.push_back(fmt::format("--{}", name));
  return draft().find_any({dashed.begin(), dashed.end()});
}

const Setting* MegatronOptions::said(const Names& names) {
  const Setting* setting = named(names);
  if (setting == nullptr) return nullptr;
  if (!setting->missing.empty() && !is_path(setting->name)) {
    draft().doubt(*setting, fmt::format("its value is not known: it depends on {}", fmt::join(setting->missing, ", ")));
    for (const std::string& name : setting->missing) {
      if (std::find(missing_.begin(), missing_.end(), name) == missing_.end()) missing_.push_back(name);
    }
    return nullptr;
  }
  if (says_no(setting->value)) {
    draft().leave(*setting, "as if it were not said");
    return nullptr;
  }
  return setting;
}

// Returns the setting of a flag. Unset words after the flag are no value of it.
const Setting* MegatronOptions::flag(const Names& names) {
  const Setting* setting = named(names);
  if (setting != nullptr && setting->value.kind == Value::Kind::null) return setting;
  return said(names);
}

std::optional<std::string> MegatronOptions::word(const Names& names) {
  const Setting* setting = said(names);
  if (setting == nullptr) return std::nullopt;
  return word_of(setting->value);
}

std::optional<double> MegatronOptions::number(const Names& names) {
  const Setting* setting = said(names);
  if (setting == nullptr) return std::nullopt;
  const std::vector<std::string> words = words_of(setting->value);
  if (words.size() != 1) fail_value(*setting, "a number");
  const std::optional<double> out = number_of(words.front());
  if (!out) fail_value(*setting, "a number");
  return out;
}

std::optional<std::int64_t> MegatronOptions::count(const Names& names) {
  const std::optional<double> out = number(names);
  if (!out) return std::nullopt;
  constexpr double most = 1e15;
  if (*out != std::floor(*out) || std::abs(*out) > most) fail_value(*said(names), "a whole number");
  return static_cast<std::int64_t>(*out);
}

std::optional<OptionValue> MegatronOptions::value_of(const OptionEntry& entry) {
  using Form = OptionEntry::Form;
  const Names names = entry.names();
  const Setting* setting = entry.form == Form::flag ? flag(names) : said(names);
  if (setting == nullptr) return std::nullopt;
  OptionValue out{setting, entry.form == Form::flag ? "true" : word_of(setting->value)};
  if (entry.form == Form::count) out.word = std::to_string(*count(names));
  if (entry.form == Form::number) out.word = fmt::format("{}", *number(names));
  if (entry.form == Form::first) {
    const std::vector<std::string> all = words_of(setting->value);
    out.word = all.empty() ? "" : all.front();
  }
  return out;
}

void MegatronOptions::put(const Setting* said, std::string_view key, const std::string& word, const std::string& reason,
                          const std::string& unsaid) {
  if (said != nullptr) return draft().take(*said, key, word, reason);
  draft().assume(key, word, unsaid);
}

void MegatronOptions::use_each(const Names& names, const std::string& reason) {
  for (const std::string_view name : names) {
    if (const Setting* setting = said({name})) draft().use(*setting, reason);
  }
}

void MegatronOptions::leave_each(const Names& names, const std::string& reason) {
  for (const std::string_view name : names) {
    if (const Setting* setting = said({name})) draft().leave(*setting, reason);
  }
}

std::vector<std::string> MegatronOptions::words(const Names& names) {
  const Setting* setting = said(names);
  return setting == nullptr ? std::vector<std::string>{} : words_of(setting->value);
}

}  // namespace mirfak
