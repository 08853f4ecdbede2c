#include "base/document.hpp"

#include "base/text.hpp"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <charconv>
#include <cmath>
#include <fstream>
#include <sstream>

namespace mirfak {

namespace {

constexpr int kMaxDepth = 64;
constexpr std::size_t kMaxValues = 200'000;
constexpr std::size_t kMaxFileBytes = 16U << 20U;

std::string nth_line(std::string_view text, int number) {
  std::size_t begin = 0;
  for (int i = 1; i < number; ++i) {
    begin = text.find('\n', begin);
    if (begin == std::string_view::npos) return {};
    ++begin;
  }
  if (begin > text.size() || number < 1) return {};
  std::string line(text.substr(begin, text.find('\n', begin) - begin));
  constexpr std::size_t longest = 160;  // an excerpt for a person, not a dump
  if (line.size() > longest) line.resize(longest);
  return line;
}

// Converts yaml-cpp's nodes into Values. Aliases are expanded, so the number of values is capped.
class Converter {
 public:
  Converter(std::string file, const std::string& text) : file_(std::move(file)), text_(text) {}

  Value convert(const YAML::Node& node, int depth) {
    const Location where = place(node.Mark());
    if (depth > kMaxDepth) fail(where, fmt::format("nested deeper than {} levels", kMaxDepth));
    if (++values_ > kMaxValues) fail(where, fmt::format("more than {} values", kMaxValues));
    Value value;
    value.where = where;
    switch (node.Type()) {
      case YAML::NodeType::Scalar:
        value.kind = Value::Kind::scalar;
        value.scalar = node.Scalar();
        value.quoted = node.Tag() == "!";
        break;
      case YAML::NodeType::Sequence:
        value.kind = Value::Kind::sequence;
        for (const YAML::Node& item : node) value.items.push_back(convert(item, depth + 1));
        break;
      case YAML::NodeType::Map:
        value.kind = Value::Kind::mapping;
        for (const auto& field : node) add_field(value, field.first, field.second, depth);
        break;
      default:
        break;
    }
    return value;
  }

 private:
  void add_field(Value& mapping, const YAML::Node& key, const YAML::Node& field, int depth) {
    const Location where = place(key.Mark());
    if (!key.IsScalar()) fail(where, "a key must be a plain word");
    if (mapping.find(key.Scalar()) != nullptr) fail(where, fmt::format("the key '{}' stands here twice", key.Scalar()));
    Value value = convert(field, depth + 1);
    if (value.kind == Value::Kind::null) value.where = where;
    value.key_where = where;
    mapping.fields.emplace_back(key.Scalar(), std::move(value));
  }

  Location place(const YAML::Mark& mark) const {
    if (mark.is_null()) return {file_, 0, 0};
    return {file_, mark.line + 1, mark.column + 1};
  }

  [[noreturn]] void fail(const Location& where, std::string message) const {
    throw Error(ErrorKind::input, where, std::move(message), {}, nth_line(text_, where.line));
  }

  std::string file_;
  const std::string& text_;
  std::size_t values_ = 0;
};

Value parse(const std::string& text, const std::string& name) {
  try {
    return Converter(name, text).convert(YAML::Load(text), 0);
  } catch (const YAML::Exception& error) {
    const Location where =
        error.mark.is_null() ? Location{name, 0, 0} : Location{name, error.mark.line + 1, error.mark.column + 1};
    throw Error(ErrorKind::input, where, "not valid YAML: " + error.msg, {}, nth_line(text, where.line));
  }
}

void emit(YAML::Emitter& out, const Value& value) {
  switch (value.kind) {
    case Value::Kind::null:
      out << YAML::Null;
      break;
    case Value::Kind::scalar:
      if (value.quoted) out << YAML::DoubleQuoted;
      out << value.scalar;
      break;
    case Value::Kind::sequence:
      out << YAML::Flow << YAML::BeginSeq;
      for (const Value& item : value.items) emit(out, item);
      out << YAML::EndSeq;
      break;
    case Value::Kind::mapping:
      out << YAML::BeginMap;
      for (const auto& [key, field] : value.fields) {
        out << YAML::Key << key << YAML::Value;
        emit(out, field);
      }
      out << YAML::EndMap;
      break;
  }
}

// One step of an override's path: a key, or an index in brackets.
struct PathStep {
  std::string key;
  std::optional<std::size_t> index;
};

std::vector<PathStep> parse_path(std::string_view path, const Location& where) {
  std::vector<PathStep> steps;
  std::size_t at = 0;
  while (at < path.size()) {
    if (path[at] == '[') {
      const std::size_t close = path.find(']', at);
      std::size_t index = 0;
      const char* const begin = path.data() + at + 1;
      const char* const end = close == std::string_view::npos ? begin : path.data() + close;
      if (begin == end || std::from_chars(begin, end, index).ptr != end) {
        fail_input(where, "expected an index such as [0] in the path of the override");
      }
      steps.push_back({{}, index});
      at = close + 1;
      if (at < path.size() && path[at] == '.') ++at;
    } else {
      const std::size_t stop = std::min(path.find_first_of(".[", at), path.size());
      if (stop == at) fail_input(where, "the path of the override has an empty key");
      steps.push_back({std::string(path.substr(at, stop - at)), {}});
      at = stop < path.size() && path[stop] == '.' ? stop + 1 : stop;
    }
  }
  return steps;
}

Value& step_into(Value& value, const PathStep& step, const Location& where) {
  if (step.index) {
    if (value.kind != Value::Kind::sequence) fail_input(where, "the value before the index is not a list");
    if (*step.index >= value.items.size()) {
      fail_input(where,
                 fmt::format("index {} is outside the list, which has {} items", *step.index, value.items.size()));
    }
    return value.items[*step.index];
  }
  if (value.kind == Value::Kind::null) {
    value = Value{};
    value.kind = Value::Kind::mapping;
    value.where = where;
  }
  if (value.kind != Value::Kind::mapping) {
    fail_input(where, fmt::format("'{}' is asked of a value that is not a mapping", step.key));
  }
  for (auto& [key, field] : value.fields) {
    if (key == step.key) return field;
  }
  return value.fields.emplace_back(step.key, Value{}).second;
}

void set_location(Value& value, const Location& where) {
  value.where = where;
  value.key_where = where;
  for (Value& item : value.items) set_location(item, where);
  for (auto& field : value.fields) set_location(field.second, where);
}

}  // namespace

const Value* Value::find(std::string_view key) const {
  for (const auto& field : fields) {
    if (field.first == key) return &field.second;
  }
  return nullptr;
}

Document Document::from_file(const std::filesystem::path& path) {
  const std::string name = path.string();
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) fail_input({name, 0, 0}, "this is a folder, expected a file");
  std::ifstream in(path, std::ios::binary);
  if (!in) fail_input({name, 0, 0}, "cannot read this file", "check the path and its permissions");
  std::ostringstream text;
  text << in.rdbuf();
  return from_text(std::move(text).str(), name);
}

Document Document::from_text(std::string text, std::string name) {
  if (text.size() > kMaxFileBytes) fail_input({name, 0, 0}, "larger than 16 MiB: this is not a file of this kind");
  Document document;
  document.name_ = std::move(name);
  document.text_ = std::move(text);
  document.root_ = parse(document.text_, document.name_);
  return document;
}

void Document::override_value(std::string_view assignment) {
  const Location where{fmt::format("--set {}", assignment), 0, 0};
  const std::size_t equals = assignment.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    fail_input(where, "expected key=value", "for example --set strategy.tensor=4");
  }
  Value value = parse(std::string(assignment.substr(equals + 1)), where.file);
  set_location(value, where);
  Value* target = &root_;
  for (const PathStep& step : parse_path(assignment.substr(0, equals), where)) {
    target = &step_into(*target, step, where);
  }
  *target = std::move(value);
}

std::string Document::to_yaml() const {
  YAML::Emitter out;
  emit(out, root_);
  return std::string(out.c_str()) + "\n";
}

std::string Document::line(int number) const { return nth_line(text_, number); }

Node::Node(const Document& document) : document_(&document), value_(&document.root()) {}

Node::Node(const Document& document, const Value& value, std::string path)
    : document_(&document), value_(&value), path_(std::move(path)) {}

Node Node::child(const Value& value, std::string_view key) const {
  return {*document_, value, path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key)};
}

std::string Node::described() const {
  constexpr std::size_t longest = 60;
  switch (value_->kind) {
    case Value::Kind::null:
      return "nothing";
    case Value::Kind::sequence:
      return "a list";
    case Value::Kind::mapping:
      return "a mapping";
    case Value::Kind::scalar:
      break;
  }
  return value_->scalar.size() <= longest ? fmt::format("'{}'", value_->scalar)
                                          : fmt::format("'{}...'", value_->scalar.substr(0, longest));
}

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

std::string Node::as_string() const {
  if (!is_scalar()) fail("expected a word, found " + described());
  return value_->scalar;
}

bool Node::as_bool() const {
  if (is_scalar() && !value_->quoted) {
    const std::string& word = value_->scalar;
    if (word == "true" || word == "True") return true;
    if (word == "false" || word == "False") return false;
  }
  fail("expected true or false, found " + described());
}

double Node::as_number(double minimum, double maximum) const {
  double number = 0;
  const std::string& text = value_->scalar;
  const char* const end = text.data() + text.size();
  const bool parsed = is_scalar() && !value_->quoted && !text.empty() &&
                      std::from_chars(text.data() + (text[0] == '+' ? 1 : 0), end, number).ptr == end;
  if (!parsed || !std::isfinite(number)) fail("expected a number, found " + described());
  if (number < minimum || number > maximum) {
    fail(fmt::format("expected a number from {:g} to {:g}, found {}", minimum, maximum, text));
  }
  return number;
}

std::int64_t Node::as_integer(std::int64_t minimum, std::int64_t maximum) const {
  const double number = [&] {
    if (!is_scalar()) fail("expected a whole number, found " + described());
    return as_number(-1e300, 1e300);
  }();
  if (number != std::floor(number)) fail("expected a whole number, found " + described());
  if (number < static_cast<double>(minimum) || number > static_cast<double>(maximum)) {
    fail(maximum >= (std::int64_t{1} << 53)
             ? fmt::format("expected a whole number of at least {}, found {}", minimum, value_->scalar)
             : fmt::format("expected a whole number from {} to {}, found {}", minimum, maximum, value_->scalar));
  }
  return static_cast<std::int64_t>(number);
}

std::size_t Node::as_choice(const std::vector<std::string>& names) const {
  const std::string word = as_string();
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == word) return i;
  }
  const std::string close = nearest(word, names);
  fail(fmt::format("expected {}, found {}", join_or(names), described()),
       close.empty() ? std::string() : fmt::format("did you mean '{}'?", close));
}

std::vector<Node> Node::as_items() const {
  if (!is_sequence()) fail("expected a list, found " + described());
  std::vector<Node> items;
  for (std::size_t i = 0; i < value_->items.size(); ++i) {
    items.emplace_back(*document_, value_->items[i], fmt::format("{}[{}]", path_, i));
  }
  return items;
}

Mapping::Mapping(const Node& node) : node_(node) {
  if (!node.is_mapping() && !node.is_null()) node.fail("expected a mapping (key: value), found " + node.described());
}

bool Mapping::has(std::string_view key) const {
  const Value* value = node_.value().find(key);
  return value != nullptr && value->kind != Value::Kind::null;
}

std::optional<Node> Mapping::find(std::string_view key) {
  known_.emplace(key);
  const Value* value = node_.value().find(key);
  if (value == nullptr || value->kind == Value::Kind::null) return std::nullopt;
  return node_.child(*value, key);
}

Node Mapping::require(std::string_view key) {
  if (std::optional<Node> found = find(key)) return *found;
  std::string hint;
  for (const auto& field : node_.value().fields) {
    const std::string wanted(key);
    if (!known_.contains(field.first) && nearest(field.first, {&wanted, 1}) == wanted) {
      hint = fmt::format("is '{}' meant to be '{}'?", field.first, key);
    }
  }
  node_.fail(fmt::format("the key '{}' is missing", key), hint);
}

std::string Mapping::string_or(std::string_view key, std::string fallback) {
  const std::optional<Node> found = find(key);
  return found ? found->as_string() : std::move(fallback);
}

bool Mapping::bool_or(std::string_view key, bool fallback) {
  const std::optional<Node> found = find(key);
  return found ? found->as_bool() : fallback;
}

std::int64_t Mapping::integer_or(std::string_view key, std::int64_t fallback, std::int64_t minimum,
                                 std::int64_t maximum) {
  const std::optional<Node> found = find(key);
  return found ? found->as_integer(minimum, maximum) : fallback;
}

double Mapping::number_or(std::string_view key, double fallback, double minimum, double maximum) {
  const std::optional<Node> found = find(key);
  return found ? found->as_number(minimum, maximum) : fallback;
}

std::vector<std::string> Mapping::keys() const {
  std::vector<std::string> out;
  for (const auto& field : node_.value().fields) out.push_back(field.first);
  return out;
}

void Mapping::ignore(std::string_view key) { known_.emplace(key); }

void Mapping::finish() const {
  const std::vector<std::string> names(known_.begin(), known_.end());
  for (const auto& [key, value] : node_.value().fields) {
    if (known_.contains(key)) continue;
    const std::string close = nearest(key, names);
    Value at_key;
    at_key.where = value.key_where;
    node_.child(at_key, key)
        .fail("unknown key", close.empty() ? "expected " + join_or(names) : fmt::format("did you mean '{}'?", close));
  }
}

}  // namespace mirfak
