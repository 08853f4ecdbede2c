#include "import/json_file.hpp"

#include "base/text.hpp"
#include "base/yaml.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cctype>
#include <cstddef>

namespace mirfak {

namespace {

// True for a number, true, false or null.
bool is_json_word(const std::string& text) {
  return nlohmann::json::accept(text) && text.find_first_of("{[\"") == std::string::npos;
}

void fill(Value& value, const std::map<std::string, std::string>& words) {
  for (Value& item : value.items) fill(item, words);
  for (Value::Field& field : value.fields) fill(field.value, words);
  if (value.kind != Value::Kind::scalar || value.quoted || is_json_word(value.scalar)) return;
  const std::string& name = value.scalar;
  const auto found = words.find(name);
  if (found == words.end()) {
    fail_input(value.where, fmt::format("expected a JSON value, found the word {}", excerpt(value.scalar)),
               fmt::format("of a template: fill it in, or give --env {}=VALUE", excerpt(name)));
  }
  value.scalar = found->second;
}

// Blanks out the braces of ${stage}, so that the word stage stays in its place.
void blank_out_braces(std::string& text, std::size_t at) {
  std::size_t end = at + 2;
  while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) != 0 || text[end] == '_')) ++end;
  if (end == at + 2 || end >= text.size() || text[end] != '}') return;
  text[at] = text[at + 1] = text[end] = ' ';
}

}  // namespace

Value parse_json_file(const std::string& text, const std::string& name,
                      const std::map<std::string, std::string>& words) {
  // Tabs are blanks in JSON and not allowed in YAML; YAML reads everything else of JSON.
  std::string blanks = text;
  bool quoted = false;
  for (std::size_t i = 0; i < blanks.size(); ++i) {
    if (blanks[i] == '\\' && quoted) {
      ++i;
    } else if (blanks[i] == '"') {
      quoted = !quoted;
    } else if (blanks[i] == '\t' && !quoted) {
      blanks[i] = ' ';
    } else if (blanks.compare(i, 2, "${") == 0 && !quoted) {
      blank_out_braces(blanks, i);
    }
  }
  Value root = parse_yaml(blanks, name);
  if (root.kind != Value::Kind::mapping) fail_input({name, 1, 1}, "expected a JSON object");
  fill(root, words);
  return root;
}

}  // namespace mirfak
