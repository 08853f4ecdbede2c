#include "validation/value_template.hpp"

#include <cctype>
#include <charconv>

namespace mirfak {

namespace {

// Limit on operands: more than any quantity of a row, and far from overflow when two are multiplied.
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

constexpr std::string_view kSigns = "/*-";

bool is_number(std::string_view word) { return std::isdigit(static_cast<unsigned char>(word.front())) != 0; }

std::optional<std::int64_t> operand_of(const std::string& text) {
  const std::optional<std::int64_t> operand = whole_number(text);
  return operand && *operand >= 1 && *operand <= kMaxOperand ? operand : std::nullopt;
}

// Removes and returns the word at the start of `text`; "": there is none.
std::string take_word(std::string_view& text) {
  std::size_t end = 0;
  while (end < text.size() && is_name_character(text[end])) ++end;
  std::string word(text.substr(0, end));
  text.remove_prefix(end);
  return word;
}

std::optional<TemplateName> parse_name(std::string_view inside) {
  TemplateName out;
  out.name = take_word(inside);
  if (out.name.empty()) return std::nullopt;
  while (!inside.empty()) {  // " / 4", " * ports"
    if (inside.size() < 4 || inside[0] != ' ' || inside[2] != ' ') return std::nullopt;
    TemplateName::Operation next{inside[1], {}};
    inside.remove_prefix(3);
    next.operand = take_word(inside);
    const bool known = kSigns.find(next.sign) != std::string_view::npos;
    if (!known || next.operand.empty() || (is_number(next.operand) && !operand_of(next.operand))) return std::nullopt;
    out.operations.push_back(std::move(next));
  }
  return out;
}

// Returns the result of an operation; nullopt: negative.
std::optional<std::int64_t> computed(std::int64_t number, char sign, std::int64_t operand) {
  if (sign == '*') return number * operand;
  if (sign == '/') return (number + operand - 1) / operand;
  return number >= operand ? std::optional(number - operand) : std::nullopt;
}

// Returns the value of a name; nullopt if it or an operand has no value, or no whole number although it is computed
// with; `missing` becomes that name.
std::optional<std::string> value_of(const TemplateName& name, const NameLookup& lookup, std::string& missing) {
  missing = name.name;
  std::optional<std::string> text = lookup(name.name);
  if (!text || name.operations.empty()) return text;
  std::optional<std::int64_t> number = whole_number(*text);
  for (const TemplateName::Operation& next : name.operations) {
    if (!number || *number > kMaxWhole) return std::nullopt;
    missing = next.operand;
    const std::optional<std::string> operand_text = is_number(next.operand) ? next.operand : lookup(next.operand);
    const std::optional<std::int64_t> operand = operand_text ? operand_of(*operand_text) : std::nullopt;
    if (!operand) return std::nullopt;
    number = computed(*number, next.sign, *operand);
  }
  return number ? std::optional(std::to_string(*number)) : std::nullopt;
}

}  // namespace

std::vector<std::string> TemplateName::operand_names() const {
  std::vector<std::string> out;
  for (const Operation& each : operations) {
    if (!is_number(each.operand)) out.push_back(each.operand);
  }
  return out;
}

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
    std::string unknown;
    const std::optional<std::string> value = value_of(name, lookup, unknown);
    if (!value) {
      if (missing != nullptr) *missing = unknown;
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
