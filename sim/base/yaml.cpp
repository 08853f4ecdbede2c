// This is the only file that uses libyaml. It listens to the parser's events instead of loading trees: keys and values
// are counted while they are read. An input of a few bytes that expands to billions of values
//
//   a: &a [x, x, x, x]
//   b: &b [*a, *a, *a, *a]      # and so on, four times more on every line
//
// is therefore refused at the 200,000th value. An alias inside the value that it names is refused because that value is
// not finished. A second document in the file is an error; it is not dropped in silence.
#include "base/yaml.hpp"

#include "base/characters.hpp"
#include "base/text.hpp"

#include <fmt/format.h>
#include <yaml.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <memory>
#include <new>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

namespace mirfak {

namespace {

constexpr std::size_t kMaxValues = 200'000;
constexpr std::size_t kMaxExpandedBytes = 8U << 20U;

// The size of a value, which counts again for each alias that copies it.
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

// One event of the parser.
class Event {
 public:
  Event() = default;
  ~Event() { yaml_event_delete(&event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  yaml_event_t* get() { return &event_; }
  const yaml_event_t* operator->() const { return &event_; }

 private:
  yaml_event_t event_{};
};

std::string text_of(const yaml_char_t* text) {
  return text == nullptr ? std::string() : reinterpret_cast<const char*>(text);
}

bool is_null_word(std::string_view word) {
  return word.empty() || word == "~" || word == "null" || word == "Null" || word == "NULL";
}

class ValueBuilder {
 public:
  ValueBuilder(std::string name, const std::string& text, bool unique_keys)
      : name_(std::move(name)), text_(text), unique_keys_(unique_keys) {
    root_.where = {name_, 1, 1};  // place of the root in a file without a value
  }

  Value read() {
    yaml_parser_t parser;
    if (yaml_parser_initialize(&parser) == 0) throw std::bad_alloc();
    const std::unique_ptr<yaml_parser_t, void (*)(yaml_parser_t*)> holder(&parser, yaml_parser_delete);
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser, reinterpret_cast<const unsigned char*>(text_.data()), text_.size());
    for (bool more = true; more;) {
      Event event;
      if (yaml_parser_parse(&parser, event.get()) == 0) fail_syntax(parser);
      more = event->type != YAML_STREAM_END_EVENT;
      take(*event.get());
    }
    return std::move(root_);
  }

 private:
  void take(const yaml_event_t& event) {
    switch (event.type) {
      case YAML_DOCUMENT_START_EVENT:
        if (++documents_ > 1)
          fail(place(event.start_mark), "a second document starts here, expected the end of the file");
        return;
      case YAML_SCALAR_EVENT:
        return take_scalar(event);
      case YAML_ALIAS_EVENT:
        return take_alias(event);
      case YAML_SEQUENCE_START_EVENT:
        return open(Value::Kind::sequence, event, event.data.sequence_start.tag, event.data.sequence_start.anchor);
      case YAML_MAPPING_START_EVENT:
        return open(Value::Kind::mapping, event, event.data.mapping_start.tag, event.data.mapping_start.anchor);
      case YAML_SEQUENCE_END_EVENT:
      case YAML_MAPPING_END_EVENT:
        return close();
      default:
        return;
    }
  }

  void take_scalar(const yaml_event_t& event) {
    const auto& scalar = event.data.scalar;
    const std::string text(reinterpret_cast<const char*>(scalar.value), scalar.length);
    const bool plain = scalar.style == YAML_PLAIN_SCALAR_STYLE;
    const std::string anchor = named(scalar.anchor);
    if (plain && scalar.tag == nullptr && is_null_word(text)) {
      spend({}, place(event.start_mark));
      return finish(make(Value::Kind::null, event), anchor);
    }
    Value value = make(Value::Kind::scalar, event);
    check_tag(scalar.tag, value.where);
    spend({1, text.size(), 1}, value.where);
    value.scalar = text;
    value.quoted = !plain;
    finish(std::move(value), anchor);
  }

  void take_alias(const yaml_event_t& event) {
    const std::string anchor = text_of(event.data.alias.anchor);
    const auto found = anchored_.find(anchor);
    if (found == anchored_.end()) {
      const bool inside = begun_.contains(anchor);
      fail(place(event.start_mark), inside ? "this alias stands inside the value that it names"
                                           : fmt::format("nothing before is called &{}", excerpt(anchor)));
    }
    spend(extent(found->second), place(event.start_mark));
    finish(Value(found->second), {});
  }

  // A sequence or mapping whose end has not been read yet.
  struct Unfinished {
    Value value;
    std::string anchor;  // "": none
    bool has_key = false;
    std::string key;
    Location key_where;
    std::unordered_set<std::string> keys;
  };

  Value make(Value::Kind kind, const yaml_event_t& event) const {
    Value value;
    value.kind = kind;
    value.where = place(event.start_mark);
    return value;
  }

  void open(Value::Kind kind, const yaml_event_t& event, const yaml_char_t* tag, const yaml_char_t* anchor) {
    Value value = make(kind, event);
    check_tag(tag, value.where);
    spend({}, value.where);
    unfinished_.push_back({std::move(value), named(anchor), false, {}, {}, {}});
  }

  std::string named(const yaml_char_t* anchor) {
    std::string name = text_of(anchor);
    if (!name.empty()) begun_.insert(name);
    return name;
  }

  void close() {
    Unfinished done = std::move(unfinished_.back());
    unfinished_.pop_back();
    finish(std::move(done.value), done.anchor);
  }

  // Puts a complete value where it belongs: a key or field of a mapping, an item of a sequence, or the root.
  void finish(Value value, const std::string& anchor) {
    if (!anchor.empty()) {
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
    if (!mapping.keys.insert(key.scalar).second && unique_keys_) {
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

  void check_tag(const yaml_char_t* tag, const Location& where) const {
    if (tag != nullptr) fail(where, fmt::format("the tag '{}' has no meaning here", excerpt(text_of(tag))));
  }

  Location place(const yaml_mark_t& mark) const {
    return {name_, static_cast<int>(mark.line) + 1, static_cast<int>(mark.column) + 1};
  }

  [[noreturn]] void fail(const Location& where, std::string message) const {
    throw Error(ErrorKind::input, where, std::move(message), {}, nth_line(text_, where.line));
  }

  [[noreturn]] void fail_syntax(const yaml_parser_t& parser) const {
    if (parser.error == YAML_MEMORY_ERROR) throw std::bad_alloc();
    const std::string problem = parser.problem == nullptr ? "this cannot be read" : parser.problem;
    const std::string context = parser.context == nullptr ? "" : fmt::format(" {}", parser.context);
    fail(place(parser.problem_mark), fmt::format("not valid YAML: {}{}", problem, context));
  }

  std::string name_;
  const std::string& text_;
  bool unique_keys_;
  std::size_t values_ = 0;
  std::size_t bytes_ = 0;
  int documents_ = 0;
  Value root_;
  std::vector<Unfinished> unfinished_;
  std::map<std::string, Value> anchored_;
  std::unordered_set<std::string> begun_;  // anchors of values whose beginning has been read
};

// True if a word contains no sign of YAML and can stand without quotes.
bool is_plain_word(std::string_view word) {
  const auto letter = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  if (word.empty() || word == "null" || word == "Null" || word == "NULL") return false;
  const bool begins_well =
      letter(word[0]) || (word.size() > 1 && (word[0] == '-' || word[0] == '+' || word[0] == '.') && letter(word[1]));
  return begins_well && std::all_of(word.begin(), word.end(),
                                    [&](char c) { return letter(c) || c == '.' || c == '-' || c == '+' || c == '/'; });
}

// Writes values: mappings over several lines or within braces, lists within brackets.
class Writer {
 public:
  explicit Writer(bool on_one_line) : on_one_line_(on_one_line) {
    if (yaml_emitter_initialize(&emitter_) == 0) throw std::bad_alloc();
    yaml_emitter_set_output(&emitter_, append, &out_);
    yaml_emitter_set_unicode(&emitter_, 1);
    yaml_emitter_set_width(&emitter_, -1);
  }
  ~Writer() { yaml_emitter_delete(&emitter_); }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  std::string write(const Value& value) {
    yaml_event_t event;
    emit(yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING), event);
    emit(yaml_document_start_event_initialize(&event, nullptr, nullptr, nullptr, 1), event);
    add(value);
    emit(yaml_document_end_event_initialize(&event, 1), event);
    emit(yaml_stream_end_event_initialize(&event), event);
    while (out_.ends_with('\n')) out_.pop_back();
    return std::move(out_);
  }

 private:
  static int append(void* out, unsigned char* text, std::size_t size) {
    static_cast<std::string*>(out)->append(reinterpret_cast<const char*>(text), size);
    return 1;
  }

  void emit(int made, yaml_event_t& event) {
    if (made == 0 || yaml_emitter_emit(&emitter_, &event) == 0) fail_internal("cannot write YAML");
  }

  void add_word(const std::string& word, bool quoted) {
    const bool plain = !quoted && is_plain_word(word);
    yaml_event_t event;
    emit(yaml_scalar_event_initialize(&event, nullptr, nullptr, reinterpret_cast<const yaml_char_t*>(word.data()),
                                      static_cast<int>(word.size()), 1, 1,
                                      plain ? YAML_PLAIN_SCALAR_STYLE : YAML_DOUBLE_QUOTED_SCALAR_STYLE),
         event);
  }

  void add(const Value& value) {
    yaml_event_t event;
    switch (value.kind) {
      case Value::Kind::null:
        emit(yaml_scalar_event_initialize(&event, nullptr, nullptr, reinterpret_cast<const yaml_char_t*>("~"), 1, 1, 1,
                                          YAML_PLAIN_SCALAR_STYLE),
             event);
        break;
      case Value::Kind::scalar:
        add_word(value.scalar, value.quoted);
        break;
      case Value::Kind::sequence:
        emit(yaml_sequence_start_event_initialize(&event, nullptr, nullptr, 1, YAML_FLOW_SEQUENCE_STYLE), event);
        for (const Value& item : value.items) add(item);
        emit(yaml_sequence_end_event_initialize(&event), event);
        break;
      case Value::Kind::mapping:
        emit(yaml_mapping_start_event_initialize(&event, nullptr, nullptr, 1,
                                                 on_one_line_ ? YAML_FLOW_MAPPING_STYLE : YAML_BLOCK_MAPPING_STYLE),
             event);
        for (const auto& [key, field] : value.fields) {
          add_word(key, false);
          add(field);
        }
        emit(yaml_mapping_end_event_initialize(&event), event);
        break;
    }
  }

  bool on_one_line_;
  std::string out_;
  yaml_emitter_t emitter_{};
};

}  // namespace

Value parse_yaml(const std::string& text, const std::string& name) {
  check_characters(text, name, "expected YAML or JSON text in UTF-8");
  return ValueBuilder(name, text, true).read();
}

Value parse_foreign_yaml(const std::string& text, const std::string& name) {
  check_characters(text, name, "expected YAML or JSON text in UTF-8");
  return ValueBuilder(name, text, false).read();
}

std::string emit_yaml(const Value& value) { return Writer(false).write(value) + "\n"; }

std::string emit_flow_yaml(const Value& value) { return Writer(true).write(value); }

std::string quoted_yaml(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\' || c == '\n') out += '\\';
    out += c == '\n' ? 'n' : c;
  }
  return out + "\"";
}

}  // namespace mirfak
