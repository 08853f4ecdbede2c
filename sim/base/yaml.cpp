// The only file that knows yaml-cpp. It listens to the parser's events instead of loading YAML::Node trees:
// keys and values are counted while they are read, so that an input of a few bytes that expands to billions of values
//
//   a: &a [x, x, x, x]
//   b: &b [*a, *a, *a, *a]      # and so on, four times more on every line
//
// is refused at the 200,000th, an alias inside the very value it names is refused because that value is
// not finished, and a second document in the file is an error instead of being dropped in silence.
#include "base/yaml.hpp"

#include "base/text.hpp"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>
#include <boost/locale/utf.hpp>

#include <algorithm>
#include <cctype>
#include <sstream>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace mirfak {

namespace {

constexpr std::size_t kMaxValues = 200'000;
constexpr std::size_t kMaxExpandedBytes = 8U << 20U;

// What a value costs when an alias copies it.
struct Extent {
  std::size_t values = 1;
  std::size_t bytes = 0;
  std::size_t depth = 1;
};

Extent extent(const Value& value) {
  Extent total;
  total.bytes = value.scalar.size();
  const auto add = [&](const Value& part) {
    const Extent inner = extent(part);
    total.values += inner.values;
    total.bytes += inner.bytes;
    total.depth = std::max(total.depth, inner.depth + 1);
  };
  for (const Value& item : value.items) add(item);
  for (const auto& [key, field] : value.fields) {
    total.values += 1;
    total.bytes += key.size();
    add(field);
  }
  return total;
}

bool is_utf8(const std::string& text) {
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    if (!boost::locale::utf::is_valid_codepoint(boost::locale::utf::utf_traits<char>::decode(at, end))) return false;
  }
  return true;
}

class ValueBuilder : public YAML::EventHandler {
 public:
  ValueBuilder(std::string name, const std::string& text) : name_(std::move(name)), text_(text) {
    root_.where = {name_, 1, 1};  // of a file without a value
  }

  Value take() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1) fail(place(mark), "a second document starts here, expected the end of the file");
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    spend({}, place(mark));
    finish(make(Value::Kind::null, mark), anchor);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    Value value = make(Value::Kind::scalar, mark);
    check_tag(tag, value.where);
    spend({1, text.size(), 1}, value.where);
    if (!is_utf8(text)) fail(value.where, "an escape in this text does not stand for a character");  // \N and \_
    value.scalar = text;
    value.quoted = tag == "!";
    finish(std::move(value), anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchored_.find(anchor);
    if (found == anchored_.end()) fail(place(mark), "this alias stands inside the value that it names");
    spend(extent(found->second), place(mark));
    finish(Value(found->second), YAML::NullAnchor);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    open(Value::Kind::sequence, mark, tag, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    open(Value::Kind::mapping, mark, tag, anchor);
  }
  void OnMapEnd() override { close(); }

 private:
  // A sequence or mapping whose end has not been read yet.
  struct Unfinished {
    Value value;
    YAML::anchor_t anchor;
    bool has_key = false;
    std::string key;
    Location key_where;
    std::unordered_set<std::string> keys;
  };

  Value make(Value::Kind kind, const YAML::Mark& mark) const {
    Value value;
    value.kind = kind;
    value.where = place(mark);
    return value;
  }

  void open(Value::Kind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    Value value = make(kind, mark);
    check_tag(tag, value.where);
    spend({}, value.where);
    unfinished_.push_back({std::move(value), anchor, false, {}, {}, {}});
  }

  void close() {
    Unfinished done = std::move(unfinished_.back());
    unfinished_.pop_back();
    finish(std::move(done.value), done.anchor);
  }

  // Puts a complete value where it belongs: a key or field of a mapping, an item of a sequence, or the root.
  void finish(Value value, YAML::anchor_t anchor) {
    if (anchor != YAML::NullAnchor) {
      spend(extent(value), value.where);
      anchored_.insert_or_assign(anchor, value);
    }
    if (unfinished_.empty()) {
      root_ = std::move(value);
    } else if (unfinished_.back().value.kind == Value::Kind::sequence) {
      unfinished_.back().value.items.push_back(std::move(value));
    } else if (unfinished_.back().has_key) {
      add_field(unfinished_.back(), std::move(value));
    } else {
      set_key(unfinished_.back(), value);
    }
  }

  void set_key(Unfinished& mapping, const Value& key) {
    if (key.kind != Value::Kind::scalar) fail(key.where, "a key must be a plain word");
    if (key.scalar.size() > kMaxKeyBytes) fail(key.where, fmt::format("a key longer than {} bytes", kMaxKeyBytes));
    if (!mapping.keys.insert(key.scalar).second) {
      fail(key.where, fmt::format("the key '{}' stands here twice", excerpt(key.scalar)));
    }
    mapping.key = key.scalar;
    mapping.key_where = key.where;
    mapping.has_key = true;
  }

  void add_field(Unfinished& mapping, Value value) {
    if (value.kind == Value::Kind::null) value.where = mapping.key_where;
    value.key_where = mapping.key_where;
    mapping.value.fields.push_back({std::move(mapping.key), std::move(value)});
    mapping.has_key = false;
  }

  void spend(const Extent& more, const Location& where) {
    values_ += more.values;
    bytes_ += more.bytes;
    if (values_ > kMaxValues) fail(where, fmt::format("more than {} keys and values", kMaxValues));
    if (bytes_ > kMaxExpandedBytes) fail(where, "the aliases expand to more than 8 MiB of text");
    if (unfinished_.size() + more.depth > kMaxDocumentDepth) {
      fail(where, fmt::format("nested deeper than {} levels", kMaxDocumentDepth));
    }
  }

  // yaml-cpp reports "?" for a plain value and "!" for one in quotes.
  void check_tag(const std::string& tag, const Location& where) const {
    if (!tag.empty() && tag != "?" && tag != "!") {
      fail(where, fmt::format("the tag '{}' has no meaning here", excerpt(tag)));
    }
  }

  Location place(const YAML::Mark& mark) const {
    if (mark.is_null()) return {name_, 0, 0};
    return {name_, mark.line + 1, mark.column + 1};
  }

  [[noreturn]] void fail(const Location& where, std::string message) const {
    throw Error(ErrorKind::input, where, std::move(message), {}, nth_line(text_, where.line));
  }

  std::string name_;
  const std::string& text_;
  std::size_t values_ = 0;
  std::size_t bytes_ = 0;
  int documents_ = 0;
  Value root_;
  std::vector<Unfinished> unfinished_;
  std::unordered_map<YAML::anchor_t, Value> anchored_;
};

// yaml-cpp writes some words plain that it does not read back as the same word ("---" at the start of a line, for
// one), so only words that have no sign of YAML in them are left to it.
bool is_plain_word(std::string_view word) {
  const auto letter = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  if (word.empty() || word == "null" || word == "Null" || word == "NULL") return false;
  const bool begins_well =
      letter(word[0]) || (word.size() > 1 && (word[0] == '-' || word[0] == '+' || word[0] == '.') && letter(word[1]));
  return begins_well && std::all_of(word.begin(), word.end(),
                                    [&](char c) { return letter(c) || c == '.' || c == '-' || c == '+' || c == '/'; });
}

void emit_word(YAML::Emitter& out, const std::string& word, bool quoted) {
  if (quoted || !is_plain_word(word)) out << YAML::DoubleQuoted;
  out << word;
}

void emit(YAML::Emitter& out, const Value& value) {
  switch (value.kind) {
    case Value::Kind::null:
      out << YAML::Null;
      break;
    case Value::Kind::scalar:
      emit_word(out, value.scalar, value.quoted);
      break;
    case Value::Kind::sequence:
      out << YAML::Flow << YAML::BeginSeq;
      for (const Value& item : value.items) emit(out, item);
      out << YAML::EndSeq;
      break;
    case Value::Kind::mapping:
      out << YAML::BeginMap;
      for (const auto& [key, field] : value.fields) {
        out << YAML::Key;
        emit_word(out, key, false);
        out << YAML::Value;
        emit(out, field);
      }
      out << YAML::EndMap;
      break;
  }
}

}  // namespace

void check_characters(const std::string& text, const std::string& name) {
  using Utf8 = boost::locale::utf::utf_traits<char>;
  Location where{name, 1, 1};
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    const char* const begin = at;
    const boost::locale::utf::code_point character = Utf8::decode(at, end);
    std::string problem;
    if (character == boost::locale::utf::illegal || character == boost::locale::utf::incomplete) {
      problem = fmt::format("the byte 0x{:02x} is not UTF-8 text", static_cast<unsigned char>(*begin));
    } else if ((character < 0x20 && character != '\t' && character != '\n' && character != '\r') || character == 0x7f) {
      problem = fmt::format("the control character 0x{:02x} does not belong in this file", character);
    }
    if (!problem.empty()) {
      throw Error(ErrorKind::input, where, std::move(problem), "expected YAML or JSON text in UTF-8",
                  nth_line(text, where.line));
    }
    where.column = character == '\n' ? 1 : where.column + static_cast<int>(at - begin);
    where.line += character == '\n' ? 1 : 0;
  }
}

Value parse_yaml(const std::string& text, const std::string& name) {
  check_characters(text, name);
  try {
    ValueBuilder builder(name, text);
    std::istringstream in(text);
    YAML::Parser parser(in);
    while (parser.HandleNextDocument(builder)) continue;
    return builder.take();
  } catch (const YAML::Exception& error) {
    const Location where =
        error.mark.is_null() ? Location{name, 0, 0} : Location{name, error.mark.line + 1, error.mark.column + 1};
    throw Error(ErrorKind::input, where, "not valid YAML: " + error.msg, {}, nth_line(text, where.line));
  }
}

std::string emit_yaml(const Value& value) {
  YAML::Emitter out;
  emit(out, value);
  return std::string(out.c_str()) + "\n";
}

std::string emit_flow_yaml(const Value& value) {
  YAML::Emitter out;
  out.SetMapFormat(YAML::Flow);
  emit(out, value);
  return out.c_str();
}

std::string quoted_yaml(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

}  // namespace mirfak
