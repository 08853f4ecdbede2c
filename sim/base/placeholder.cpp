#include "base/placeholder.hpp"

#include "base/text.hpp"
#include "base/yaml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

namespace mirfak {

namespace {

using Visit = std::function<void(const std::string& key, const Value& value)>;

// Visits every scalar with its key; a figure is a list of a value and its source, and its value has the list's key.
void for_each_scalar(const Value& value, const std::string& key, const Visit& visit) {
  switch (value.kind) {
    case Value::Kind::scalar:
      visit(key, value);
      break;
    case Value::Kind::mapping:
      for (const Value::Field& field : value.fields) {
        for_each_scalar(field.value, key.empty() ? field.key : key + "." + field.key, visit);
      }
      break;
    case Value::Kind::sequence: {
      const bool figure = value.items.size() == 2 && value.items[0].kind == Value::Kind::scalar &&
                          value.items[1].kind == Value::Kind::scalar;
      if (figure) visit(key, value.items[0]);
      for (std::size_t i = figure ? 1 : 0; i < value.items.size(); ++i) {
        for_each_scalar(value.items[i], fmt::format("{}[{}]", key, i), visit);
      }
      break;
    }
    case Value::Kind::null:
      break;
  }
}

std::string comment_behind(const Location& where, const std::string& text) {
  const std::string line = nth_line(text, where.line);
  const std::size_t sign = line.find(" #", static_cast<std::size_t>(std::max(0, where.column - 1)));
  return sign == std::string::npos ? "" : std::string(trimmed(std::string_view(line).substr(sign + 2)));
}

// Returns the byte offset of a scalar's place in a text.
std::size_t offset_of(const Location& where, const std::string& text) {
  std::size_t at = 0;
  for (int line = 1; line < where.line; ++line) at = text.find('\n', at) + 1;
  return at + static_cast<std::size_t>(where.column - 1);
}

}  // namespace

std::vector<Placeholder> placeholders(const Value& root, const std::string& text) {
  std::vector<Placeholder> out;
  for_each_scalar(root, "", [&](const std::string& key, const Value& value) {
    if (value.scalar == kPlaceholder && !value.quoted) {
      out.push_back({key, comment_behind(value.where, text), value.where});
    }
  });
  return out;
}

void refuse_placeholders(const Value& root, const std::string& text, const std::string& name) {
  if (text.find(kPlaceholder) == std::string::npos) return;
  const std::vector<Placeholder> missing = placeholders(root, text);
  if (missing.empty()) return;
  std::string list;
  for (const Placeholder& one : missing) {
    list += fmt::format("\n    line {}: {}{}{}", one.where.line, one.key, one.meaning.empty() ? "" : ": ", one.meaning);
  }
  fail_input({name, missing.front().where.line, missing.front().where.column},
             fmt::format("{} {} still to be filled in:{}", missing.size(),
                         missing.size() == 1 ? "value is" : "values are", list),
             fmt::format("write them in place of {}", kPlaceholder));
}

std::string filled_template(std::string text, const std::string& name, std::span<const std::string> assignments) {
  for (const std::string& assignment : assignments) {
    const Location at{fmt::format("--set {}", excerpt(assignment)), 0, 0};
    const std::size_t equals = assignment.find('=');
    if (equals == std::string::npos || equals == 0) fail_input(at, "expected key=value", "for example model=llama3-8b");
    const std::string key = assignment.substr(0, equals);
    const std::string word = assignment.substr(equals + 1);
    const Value parsed = parse_yaml(word, at.file);
    if (parsed.kind != Value::Kind::scalar || word.find('\n') != std::string::npos) {
      fail_input(at, "expected a word or a number", "edit the file for anything else");
    }
    const Value root = parse_yaml(text, name);
    std::vector<std::string> known;
    const Value* found = nullptr;
    for_each_scalar(root, "", [&](const std::string& own, const Value& value) {
      known.push_back(own);
      if (own == key) found = &value;
    });
    if (found == nullptr || found->quoted) {
      fail_input(at, fmt::format("the template has no key '{}'", excerpt(key)),
                 did_you_mean(key, known, "it has " + join_or(known)));
    }
    text.replace(offset_of(found->where, text), found->scalar.size(), word);
  }
  return text;
}

}  // namespace mirfak
