#include "validation/value_template.hpp"

#include <cctype>
#include <charconv>

namespace mirfak {

namespace {

// More than any quantity of a row, and far from overflow when two are multiplied.
constexpr std::int64_t kMaxOperand = 1'000'000;
constexpr std::int64_t kMaxWhole = std::int64_t{1} << 42;

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || rest != text.data() + text.size() || number < 0 || number > kMaxWhole) {
    return std::nullopt;
  }
  return number;
}

bool is_name_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.'; }

std::optional<TemplateName> parse_name(std::string_view inside) {
  TemplateName out;
  std::size_t at = 0;
  while (at < inside.size() && is_name_character(inside[at])) ++at;
  if (at == 0) return std::nullopt;
  out.name = inside.substr(0, at);
  if (at == inside.size()) return out;
  // " / 4" or " * 8"
  if (inside.size() < at + 4 || inside[at] != ' ' || inside[at + 2] != ' ') return std::nullopt;
  out.operation = inside[at + 1];
  const std::optional<std::int64_t> operand = whole_number(inside.substr(at + 3));
  const bool known = out.operation == '/' || out.operation == '*';
  if (!known || !operand || *operand < 1 || *operand > kMaxOperand) return std::nullopt;
  out.operand = *operand;
  return out;
}

std::optional<std::string> result_of(const TemplateName& name, const std::string& value) {
  if (name.operation == 0) return value;
  const std::optional<std::int64_t> number = whole_number(value);
  if (!number) return std::nullopt;
  return std::to_string(name.operation == '*' ? *number * name.operand : (*number + name.operand - 1) / name.operand);
}

}  // namespace

std::optional<std::vector<TemplateName>> template_names(std::string_view text, std::size_t* fault) {
  std::vector<TemplateName> out;
  for (std::size_t at = text.find_first_of("{}"); at != std::string_view::npos; at = text.find_first_of("{}", at)) {
    const std::size_t end = text.find('}', at);
    std::optional<TemplateName> name;
    if (text[at] == '{' && end != std::string_view::npos) name = parse_name(text.substr(at + 1, end - at - 1));
    if (!name) {
      if (fault != nullptr) *fault = at;
      return std::nullopt;
    }
    name->begin = at;
    name->end = at = end + 1;
    out.push_back(*std::move(name));
  }
  return out;
}

std::optional<std::string> filled_in(std::string_view text, const NameLookup& lookup, std::string* missing) {
  std::string out;
  std::size_t copied = 0;
  const auto names = template_names(text);
  if (!names) return std::nullopt;
  for (const TemplateName& name : *names) {
    const std::optional<std::string> stands_for = lookup(name.name);
    const std::optional<std::string> value = stands_for ? result_of(name, *stands_for) : std::nullopt;
    if (!value) {
      if (missing != nullptr) *missing = name.name;
      return std::nullopt;
    }
    out += text.substr(copied, name.begin - copied);
    out += *value;
    copied = name.end;
  }
  return out + std::string(text.substr(copied));
}

std::optional<Value> filled_in(Value value, const NameLookup& lookup, const Location& where, std::string* missing) {
  if (value.kind == Value::Kind::scalar && value.scalar.find('{') != std::string::npos) {
    std::optional<std::string> text = filled_in(value.scalar, lookup, missing);
    if (!text) return std::nullopt;
    value.scalar = *std::move(text);
    value.quoted = false;
    value.where = where;
  }
  for (Value& item : value.items) {
    std::optional<Value> filled = filled_in(std::move(item), lookup, where, missing);
    if (!filled) return std::nullopt;
    item = *std::move(filled);
  }
  for (Value::Field& field : value.fields) {
    std::optional<Value> filled = filled_in(std::move(field.value), lookup, where, missing);
    if (!filled) return std::nullopt;
    field.value = *std::move(filled);
  }
  return value;
}

}  // namespace mirfak
