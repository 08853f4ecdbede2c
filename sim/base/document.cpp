#include "base/document.hpp"

#include "base/characters.hpp"
#include "base/document_text.hpp"
#include "base/input_file.hpp"
#include "base/key_path.hpp"
#include "base/placeholder.hpp"
#include "base/reading_observer.hpp"
#include "base/suggestion.hpp"
#include "base/text.hpp"
#include "base/written_number.hpp"
#include "base/yaml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

namespace mirfak {

namespace {

void tell(const Node& node, ReadValue::Kind kind, double minimum = 0, double maximum = 0) {
  if (auto* observer = reading_observer()) observer->value(node, {kind, minimum, maximum});
}

// Returns the units that a number may have here, for a text that begins as one; else "".
std::string hint_of_units(const Node& node) {
  if (!node.is_scalar() || node.value().scalar.empty()) return "";
  if (std::isdigit(static_cast<unsigned char>(node.value().scalar.front())) == 0) return "";
  const std::string units = units_of_written_number(node.path());
  return units.empty() ? "" : "units of this key: " + units;
}

// `json` makes the text, if an observer listens.
template <class Json>
void tell_fallback(const Node& mapping, std::string_view key, const Json& json) {
  if (auto* observer = reading_observer()) observer->fallback(mapping, key, json());
}

void set_location(Value& value, const Location& where) {
  value.where = where;
  value.key_where = where;
  for (Value& item : value.items) set_location(item, where);
  for (auto& field : value.fields) set_location(field.value, where);
}

// Returns the column (from 1) of byte `offset` of a scalar that starts at `column` of its line: text and line are
// compared character by character as long as they agree. The only escapes that are understood are '' in single and \"
// and \\ in double quotes.
std::optional<std::size_t> column_in_line(std::string_view line, std::string_view text, int column,
                                          std::size_t offset) {
  if (column < 1 || static_cast<std::size_t>(column) > line.size() || offset > text.size()) return std::nullopt;
  std::size_t at = static_cast<std::size_t>(column) - 1;
  const char first = line[at];
  const char quote = first == '\'' || first == '"' ? first : '\0';
  if (quote != '\0') ++at;
  for (std::size_t i = 0; i < text.size(); ++i, ++at) {
    const std::size_t begin = at;
    const std::string_view rest = line.substr(std::min(at, line.size()));
    const bool escaped = quote == '\'' ? rest.starts_with("''") : quote == '"' && rest.starts_with('\\');
    if (escaped) ++at;
    if (at >= line.size() || line[at] != text[i]) return std::nullopt;
    if (escaped && quote == '"' && text[i] != '"' && text[i] != '\\') return std::nullopt;
    if (i == offset) return begin + 1;
  }
  return at + 1;  // one byte after the last
}

// Returns the place in a text of several lines after '|', which the file writes line by line; nullopt: for any other
// text.
std::optional<CharacterPlace> place_in_block_text(const Document& document, const Value& value, std::size_t offset) {
  const std::string header = document.line(value.where.line);
  const auto sign = static_cast<std::size_t>(value.where.column) - 1;
  const std::string_view text = value.scalar;
  if (value.where.column < 1 || sign >= header.size() || header[sign] != '|' || offset > text.size()) {
    return std::nullopt;
  }
  const auto line = std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(offset), '\n');
  const std::size_t last_end = offset == 0 ? std::string_view::npos : text.rfind('\n', offset - 1);
  const std::size_t begin = last_end == std::string_view::npos ? 0 : last_end + 1;
  const std::string_view written = text.substr(begin, text.find('\n', begin) - begin);
  CharacterPlace place{value.where, {}, true};
  place.where.line += 1 + static_cast<int>(line);
  place.line = document.line(place.where.line);
  const std::size_t indent = place.line.size() - std::min(written.size(), place.line.size());
  if (!place.line.ends_with(written) || place.line.find_first_not_of(' ') < indent) return std::nullopt;
  place.where.column = static_cast<int>(indent + offset - begin) + 1;
  return place;
}

}  // namespace

const Value* Value::find(std::string_view key) const {
  for (const Field& field : fields) {
    if (field.key == key) return &field.value;
  }
  return nullptr;
}

namespace {

void refuse_large(const std::string& text, const std::string& name) {
  if (text.size() > kDocumentFile.most_bytes)
    fail_input({name, 0, 0}, "larger than 2 MiB: this is not a file of this kind");
}

}  // namespace

std::string document_text(const std::filesystem::path& path) { return read_input_file(path, kDocumentFile); }

Document Document::from_file(const std::filesystem::path& path) {
  return from_text(document_text(path), path.string());
}

Document Document::from_text(std::string text, std::string name) {
  refuse_large(text, name);
  if (text.starts_with("\xef\xbb\xbf")) text.erase(0, 3);  // the byte order mark that some editors write
  Document document;
  document.name_ = std::move(name);
  document.text_ = std::move(text);
  document.root_ = parse_yaml(document.text_, document.name_);
  refuse_placeholders(document.root_, document.text_, document.name_);
  return document;
}

void Document::override_value(std::string_view assignment) {
  const Location where{fmt::format("--set {}", excerpt(assignment)), 0, 0};
  const std::size_t equals = assignment.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    fail_input(where, "expected key=value", "for example --set strategy.tensor=4");
  }
  Value value;
  try {
    check_characters(assignment, where.file, "expected text in UTF-8");
    value = parse_yaml(std::string(assignment.substr(equals + 1)), where.file);
  } catch (const Error& error) {
    fail_input(where, error.message(), error.hint());
  }
  if (!placeholders(value, "").empty()) {
    fail_input(where, fmt::format("{} stands for a value that is still to be filled in", kPlaceholder),
               "write the value itself");
  }
  set_location(value, where);
  assign(KeyPath(assignment.substr(0, equals), where), std::move(value), where);
}

void Document::assign(const KeyPath& path, Value value, const Location& where) {
  path.assign(root_, std::move(value), where);
}

Document Document::with_root(Value root) const {
  Document out = *this;
  out.root_ = std::move(root);
  return out;
}

std::string Document::to_yaml() const { return emit_yaml(root_); }

std::string Document::line(int number) const { return nth_line(text_, number); }

Node::Node(const Document& document) : document_(&document), value_(&document.root()) {}

Node::Node(const Document& document, const Value& value, std::string path)
    : document_(&document), value_(&value), path_(std::move(path)) {}

Node Node::child(const Value& value, std::string_view key) const {
  return {*document_, value, path_.empty() ? excerpt(key) : fmt::format("{}.{}", path_, excerpt(key))};
}

Document Node::document() const { return document_->with_root(*value_); }

std::string described(const Value& value) {
  switch (value.kind) {
    case Value::Kind::null:
      return "nothing";
    case Value::Kind::sequence:
      return "a list";
    case Value::Kind::mapping:
      return "a mapping";
    case Value::Kind::scalar:
      break;
  }
  return fmt::format("'{}'", excerpt(value.scalar));
}

std::string Node::described() const { return mirfak::described(*value_); }

void Node::fail(std::string message, std::string hint) const {
  const bool in_file = where().file == document_->name();
  throw Error(ErrorKind::input, where(), path_.empty() ? std::move(message) : path_ + ": " + message, std::move(hint),
              in_file ? document_->line(where().line) : std::string());
}

void Node::fail_infeasible(std::string message, std::string hint) const {
  const bool in_file = where().file == document_->name();
  throw Error(ErrorKind::infeasible, where(), path_.empty() ? std::move(message) : path_ + ": " + message,
              std::move(hint), in_file ? document_->line(where().line) : std::string());
}

CharacterPlace Node::place_of(std::size_t offset) const {
  CharacterPlace place{where(), {}, false};
  if (where().file != document_->name()) return place;
  if (const auto in_text = place_in_block_text(*document_, *value_, offset)) return *in_text;
  place.line = document_->line(where().line);
  const std::optional<std::size_t> column = column_in_line(place.line, value_->scalar, where().column, offset);
  place.exact = column.has_value();
  if (column) place.where.column = static_cast<int>(*column);
  return place;
}

void Node::fail_at(std::size_t offset, std::string message, std::string hint) const {
  const CharacterPlace place = place_of(offset);
  if (!path_.empty()) message.insert(0, path_ + ": ");
  if (!place.exact) message += fmt::format(", at character {} of '{}'", offset + 1, excerpt(value_->scalar));
  throw Error(ErrorKind::input, place.where, std::move(message), std::move(hint), place.line);
}

std::string Node::as_string() const {
  if (!is_scalar()) fail("expected a word, found " + described());
  tell(*this, ReadValue::Kind::word);
  return value_->scalar;
}

bool Node::as_bool() const {
  if (is_scalar() && !value_->quoted) {
    const std::string& word = value_->scalar;
    tell(*this, ReadValue::Kind::truth);
    if (word == "true" || word == "True" || word == "TRUE") return true;
    if (word == "false" || word == "False" || word == "FALSE") return false;
  }
  fail("expected true or false, found " + described());
}

std::optional<double> Node::parse_number() const {
  if (!is_scalar()) return std::nullopt;
  const std::string& text = value_->scalar;
  const bool plus = text.size() > 1 && text[0] == '+' && text[1] != '-';
  const char* const end = text.data() + text.size();
  double number = 0;
  const auto [stop, error] = std::from_chars(text.data() + (plus ? 1 : 0), end, number);
  const bool plain = !value_->quoted && !text.empty() && error != std::errc::invalid_argument && stop == end;
  if (!plain) return written_number(text, path_);
  if (error == std::errc::result_out_of_range)
    fail(fmt::format("the number {} is too large or too small", described()));
  if (!std::isfinite(number)) return std::nullopt;
  return number;
}

double Node::as_number(double minimum, double maximum) const {
  const std::optional<double> number = parse_number();
  if (!number) fail("expected a number, found " + described(), hint_of_units(*this));
  tell(*this, ReadValue::Kind::number, minimum, maximum);
  if (*number < minimum || *number > maximum) {
    fail(fmt::format("expected a number from {:g} to {:g}, found {}", minimum, maximum, described()));
  }
  return *number;
}

std::int64_t Node::as_integer(std::int64_t minimum, std::int64_t maximum) const {
  constexpr double exact = 9007199254740992;  // 2^53: below this value, every whole number is a double
  const std::optional<double> number = parse_number();
  if (!number || *number != std::floor(*number)) {
    fail("expected a whole number, found " + described(), number ? "" : hint_of_units(*this));
  }
  tell(*this, ReadValue::Kind::whole_number, static_cast<double>(minimum), static_cast<double>(maximum));
  if (std::abs(*number) > exact || *number < static_cast<double>(minimum) || *number > static_cast<double>(maximum)) {
    fail(static_cast<double>(maximum) >= exact
             ? fmt::format("expected a whole number of at least {}, found {}", minimum, described())
             : fmt::format("expected a whole number from {} to {}, found {}", minimum, maximum, described()));
  }
  return static_cast<std::int64_t>(*number);
}

std::size_t Node::as_choice(const std::vector<std::string>& names) const {
  if (!is_scalar()) fail("expected a word, found " + described());
  const std::string& word = value_->scalar;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] != word) continue;
    if (auto* observer = reading_observer()) observer->value(*this, {ReadValue::Kind::word, 0, 0, names});
    return i;
  }
  fail(fmt::format("expected {}, found {}", join_or(names), described()), did_you_mean(word, names, ""));
}

std::vector<Node> Node::as_items() const {
  if (!is_sequence()) fail("expected a list, found " + described());
  tell(*this, ReadValue::Kind::list);
  std::vector<Node> items;
  for (std::size_t i = 0; i < value_->items.size(); ++i) {
    items.emplace_back(*document_, value_->items[i], fmt::format("{}[{}]", path_, i));
  }
  return items;
}

std::vector<std::string> Node::as_words() const {
  std::vector<std::string> words;
  for (const Node& item : as_items()) words.push_back(item.as_string());
  return words;
}

Mapping::Mapping(const Node& node) : node_(node) {
  if (!node.is_mapping() && !node.is_null()) node.fail("expected a mapping (key: value), found " + node.described());
  tell(node, ReadValue::Kind::mapping);
}

bool Mapping::has(std::string_view key) const {
  const Value* value = node_.value().find(key);
  return value != nullptr && value->kind != Value::Kind::null;
}

std::optional<Node> Mapping::find(std::string_view key) {
  known_.emplace(key);
  if (auto* observer = reading_observer()) observer->key(node_, key, false, false);
  const Value* value = node_.value().find(key);
  if (value == nullptr) return std::nullopt;
  const Node found = node_.child(*value, key);
  if (found.is_null()) found.fail("expected a value, found nothing", "leave the key out if it is not meant");
  return found;
}

std::optional<Node> Mapping::find_or_null(std::string_view key) {
  if (auto* observer = reading_observer()) observer->key(node_, key, false, true);
  if (has(key)) return find(key);
  known_.emplace(key);
  return std::nullopt;
}

Node Mapping::require(std::string_view key) {
  if (auto* observer = reading_observer()) observer->key(node_, key, true, false);
  if (std::optional<Node> found = find(key)) return *found;
  std::string hint;
  for (const auto& field : node_.value().fields) {
    const std::string wanted(key);
    if (!known_.contains(field.key) && nearest(field.key, {&wanted, 1}) == wanted) {
      hint = fmt::format("is '{}' meant to be '{}'?", field.key, key);
    }
  }
  node_.fail(fmt::format("the key '{}' is missing", key), hint);
}

std::string Mapping::string_or(std::string_view key, std::string fallback) {
  const std::optional<Node> found = find(key);
  tell_fallback(node_, key, [&] { return '"' + fallback + '"'; });
  return found ? found->as_string() : std::move(fallback);
}

bool Mapping::bool_or(std::string_view key, bool fallback) {
  const std::optional<Node> found = find(key);
  tell_fallback(node_, key, [&] { return std::string(fallback ? "true" : "false"); });
  return found ? found->as_bool() : fallback;
}

std::int64_t Mapping::integer_or(std::string_view key, std::int64_t fallback, std::int64_t minimum,
                                 std::int64_t maximum) {
  const std::optional<Node> found = find(key);
  tell_fallback(node_, key, [&] { return fmt::format("{}", fallback); });
  return found ? found->as_integer(minimum, maximum) : fallback;
}

std::vector<std::string> Mapping::words(std::string_view key) {
  const std::optional<Node> found = find(key);
  return found ? found->as_words() : std::vector<std::string>();
}

double Mapping::number_or(std::string_view key, double fallback, double minimum, double maximum) {
  const std::optional<Node> found = find(key);
  tell_fallback(node_, key, [&] { return fmt::format("{}", fallback); });
  return found ? found->as_number(minimum, maximum) : fallback;
}

std::vector<std::string> Mapping::keys() const {
  if (auto* observer = reading_observer()) observer->any_key(node_);
  std::vector<std::string> out;
  for (const auto& field : node_.value().fields) out.push_back(field.key);
  return out;
}

void Mapping::ignore(std::string_view key) { known_.emplace(key); }

void Mapping::finish() const {
  const std::vector<std::string> names(known_.begin(), known_.end());
  for (const auto& [key, value] : node_.value().fields) {
    if (known_.contains(key)) continue;
    Value at_key;
    at_key.where = value.key_where;
    node_.child(at_key, key).fail("unknown key", suggestion(key, names));
  }
}

}  // namespace mirfak
