#include "import/argument_words.hpp"

#include "base/text.hpp"
#include "base/yaml.hpp"
#include "import/megatron_settings.hpp"
#include "import/number_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>

namespace mirfak {

namespace {

bool is_option(const ArgumentWord& word) { return word.text.size() > 2 && word.text.starts_with("--"); }

void append_value(Setting& setting, const ArgumentWord& word) {
  // A word that vanishes may have been the value, if the option has no value yet.
  if (word.vanishes && setting.value.kind != Value::Kind::null) return;
  for (const std::string& name : word.missing) setting.missing.push_back(name);
  if (word.vanishes) return;
  setting.text += (setting.text.empty() ? "" : " ") + word.text;
  Value value = scalar_value(word.text, word.where);
  if (setting.value.kind == Value::Kind::null) {
    setting.value = std::move(value);
    return;
  }
  if (setting.value.kind == Value::Kind::scalar) {
    Value list;
    list.kind = Value::Kind::sequence;
    list.where = list.key_where = setting.value.where;
    list.items.push_back(std::move(setting.value));
    setting.value = std::move(list);
  }
  setting.value.items.push_back(std::move(value));
}

// A cursor in a text that knows its line and column.
struct TextCursor {
  std::string_view text;
  std::size_t at = 0;
  Location where;

  bool ended() const { return at >= text.size(); }
  char peek() const { return ended() ? '\0' : text[at]; }
  char next() {
    const char sign = text[at++];
    ++where.column;
    if (sign == '\n') {
      ++where.line;
      where.column = 1;
    }
    return sign;
  }
};

// Moves the next byte of a text to the end of a word.
void take_byte(TextCursor& in, ArgumentWord& word) {
  add_part(word.parts, in.where);
  word.text += in.next();
}

void read_quoted(TextCursor& in, ArgumentWord& word) {
  const Location begin = in.where;
  const char quote = in.next();
  while (!in.ended() && in.peek() != quote) take_byte(in, word);
  if (in.ended()) fail_input(begin, "an open quote", "close it");
  in.next();
}

}  // namespace

std::string way_to_state(const std::vector<std::string>& missing) {
  std::vector<std::string> variables;
  std::size_t parameters = 0;
  for (const std::string& name : missing) {
    const std::optional<std::int64_t> number = whole_number_of(name);
    if (number) parameters = std::max(parameters, static_cast<std::size_t>(*number));
    if (!number && name.starts_with("$(")) {
      return "the output of commands is not known: write the value in place of the command";
    }
    if (!number) variables.push_back(name);
  }
  std::string out = "say";
  for (const std::string& name : variables) out += fmt::format(" --env {}=VALUE", name);
  if (parameters == 0) return out;
  return out + fmt::format("{} the script's parameters: --arg WORD for each of {}, in their order",
                           variables.empty() ? "" : ", and", parameters);
}

void add_part(std::vector<WrittenPart>& parts, const Location& where) {
  if (!parts.empty()) {
    WrittenPart& last = parts.back();
    const bool next = last.where.known() && last.where.file == where.file && last.where.line == where.line &&
                      last.where.column + static_cast<int>(last.size) == where.column;
    if (next || (!last.where.known() && !where.known())) {
      ++last.size;
      return;
    }
  }
  parts.push_back({where, 1});
}

std::string base_name(std::string_view path) { return std::string(path.substr(path.rfind('/') + 1)); }

std::vector<Setting> settings_of_arguments(std::span<const ArgumentWord> words) {
  std::vector<Setting> out;
  for (const ArgumentWord& word : words) {
    if (!is_option(word)) {
      if (!out.empty()) append_value(out.back(), word);
      continue;
    }
    const std::size_t equals = word.text.find('=');
    Setting setting;
    setting.name = megatron_option_name(word.text.substr(0, equals));
    setting.where = word.where;
    if (equals == std::string::npos) {
      setting.text = word.text;
      setting.missing = word.missing;
    } else {
      ArgumentWord value{word.text.substr(equals + 1), word.where, word.missing};
      value.where.column += static_cast<int>(equals) + 1;
      append_value(setting, value);
      setting.text = word.text;
    }
    out.push_back(std::move(setting));
  }
  return out;
}

std::vector<ArgumentWord> words_of_text(std::string_view text, const std::string& name) {
  std::vector<ArgumentWord> out;
  TextCursor in{text, 0, {name, 1, 1}};
  bool inside = false;
  const auto part = [&] {
    if (!inside) out.push_back({"", in.where});
    inside = true;
  };
  while (!in.ended()) {
    const char sign = in.peek();
    if (sign == '#' && !inside) {
      while (!in.ended() && in.peek() != '\n') in.next();
    } else if (sign == '\\' && in.at + 1 < text.size()) {
      in.next();
      if (in.peek() == '\n' || in.peek() == '\r') {
        in.next();
        continue;
      }
      part();
      take_byte(in, out.back());
    } else if (sign == ' ' || sign == '\t' || sign == '\n' || sign == '\r') {
      in.next();
      inside = false;
    } else if (sign == '\'' || sign == '"') {
      part();
      read_quoted(in, out.back());
    } else {
      part();
      take_byte(in, out.back());
    }
  }
  return out;
}

Value override_value(std::string_view text, const Location& where) {
  Value nothing;
  nothing.where = nothing.key_where = where;
  if (text == "null" || text == "None") return nothing;
  if (!text.starts_with('[') && !text.starts_with('{')) return scalar_value(text, where);
  try {
    Value out = parse_yaml(std::string(text), where.file);
    out.where = out.key_where = where;
    for (Value& item : out.items) item.where = item.key_where = where;
    return out;
  } catch (const Error&) {
    fail_input(where, fmt::format("expected a list in brackets, found '{}'", excerpt(text)));
  }
}

Setting setting_of_change(const ArgumentWord& word) {
  const std::size_t first = word.text.find_first_not_of('+');
  const std::size_t equals = word.text.find('=');
  if (equals == std::string::npos || word.text.starts_with('-')) {
    fail_input(word.where, fmt::format("expected KEY=VALUE, found '{}'", excerpt(word.text)));
  }
  return {word.text.substr(first, equals - first), override_value(word.text.substr(equals + 1), word.where), word.where,
          word.text, word.missing};
}

}  // namespace mirfak
