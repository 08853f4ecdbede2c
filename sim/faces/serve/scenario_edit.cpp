#include "serve/scenario_edit.hpp"

#include "base/characters.hpp"
#include "base/key_path.hpp"
#include "base/yaml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace mirfak::serve {

namespace {

using Steps = std::vector<KeyPath::Step>;

// Returns the value at these steps; nullptr: none.
Value* find_value(Value& root, const Steps& steps, std::size_t count) {
  Value* at = &root;
  for (std::size_t i = 0; i < count; ++i) {
    const KeyPath::Step& step = steps[i];
    if (step.index) {
      if (at->kind != Value::Kind::sequence || *step.index >= at->items.size()) return nullptr;
      at = &at->items[*step.index];
      continue;
    }
    const auto field = std::find_if(at->fields.begin(), at->fields.end(),
                                    [&](const Value::Field& each) { return each.key == step.key; });
    if (at->kind != Value::Kind::mapping || field == at->fields.end()) return nullptr;
    at = &field->value;
  }
  return at;
}

void take_out(Value& root, const Steps& steps) {
  Value* const around = find_value(root, steps, steps.size() - 1);
  if (around == nullptr || steps.back().index) return;
  std::erase_if(around->fields, [&](const Value::Field& each) { return each.key == steps.back().key; });
}

// A text split into lines, each with its line end.
class Lines {
 public:
  explicit Lines(const std::string& text) {
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
      lines_.push_back(text.substr(at, end - at));
      at = end;
    }
  }

  // Returns a line if it is ASCII only, so that columns, which count characters, are bytes; else nullptr.
  std::string* plain(int number) {
    if (number < 1 || static_cast<std::size_t>(number) > lines_.size()) return nullptr;
    std::string& line = lines_[static_cast<std::size_t>(number) - 1];
    const bool ascii = std::all_of(line.begin(), line.end(), [](unsigned char c) { return c < 0x80; });
    return ascii ? &line : nullptr;
  }
  void erase(int number) { lines_.erase(lines_.begin() + (number - 1)); }
  void insert_behind(int number, std::string line) {
    std::string& before = lines_[static_cast<std::size_t>(number) - 1];
    if (!before.ends_with('\n')) before += '\n';
    lines_.insert(lines_.begin() + number, std::move(line));
  }
  std::string text() const {
    std::string out;
    for (const std::string& line : lines_) out += line;
    return out;
  }

 private:
  std::vector<std::string> lines_;
};

// The part of a line that holds a plain scalar; span_of() returns nullopt if the scalar is written otherwise than it
// reads.
struct Span {
  std::string* line = nullptr;
  std::size_t begin = 0;
  std::size_t end = 0;
};
std::optional<Span> span_of(Lines& lines, const Value& value) {
  std::string* const line = lines.plain(value.where.line);
  if (value.kind != Value::Kind::scalar || value.quoted || line == nullptr || value.where.column < 1) return {};
  const auto begin = static_cast<std::size_t>(value.where.column) - 1;
  if (line->compare(std::min(begin, line->size()), value.scalar.size(), value.scalar) != 0) return {};
  return Span{line, begin, begin + value.scalar.size()};
}

// True if the key of a field is the first word of its line: then the mapping is written in lines.
bool begins_line(Lines& lines, const Value& field) {
  const std::string* const line = lines.plain(field.key_where.line);
  return line != nullptr && line->find_first_not_of(' ') + 1 == static_cast<std::size_t>(field.key_where.column);
}

void change_in_place(Lines& lines, const Value& old, const std::string& value) {
  const std::optional<Span> span = span_of(lines, old);
  if (span) span->line->replace(span->begin, span->end - span->begin, value);
}

void remove_in_place(Lines& lines, const Value& old) {
  const bool alone = begins_line(lines, old) && span_of(lines, old) && old.key_where.line == old.where.line;
  if (alone) lines.erase(old.where.line);
}

// Adds a key after the last key of the mapping whose value ends in its line, in lines or between braces.
void add_in_place(Lines& lines, const Value& mapping, const std::string& key, const std::string& value) {
  const auto field = std::find_if(mapping.fields.rbegin(), mapping.fields.rend(),
                                  [&](const auto& entry) { return span_of(lines, entry.value).has_value(); });
  if (field == mapping.fields.rend()) return;
  const Value& last = field->value;
  if (begins_line(lines, last)) {
    const std::string indent(static_cast<std::size_t>(last.key_where.column) - 1, ' ');
    lines.insert_behind(last.where.line, fmt::format("{}{}: {}\n", indent, key, value));
  } else {
    const std::optional<Span> span = span_of(lines, last);
    span->line->insert(span->end, fmt::format(", {}: {}", key, value));
  }
}

// Adds a missing section after all others.
void add_section(std::string& text, const Steps& steps, const std::string& value) {
  if (steps.size() != 2 || steps[0].index || steps[1].index) return;
  if (!text.empty() && !text.ends_with('\n')) text += '\n';
  text += fmt::format("{}:\n  {}: {}\n", steps[0].key, steps[1].key, value);
}

// Returns the text with the edit if it fits into a line; else the unchanged text.
std::string with_small_change(const std::string& text, Value& root, const Steps& steps,
                              const std::optional<std::string>& value) {
  Lines lines(text);
  const Value* const old = find_value(root, steps, steps.size());
  const Value* const around = find_value(root, steps, steps.size() - 1);
  if (old != nullptr) {
    value ? change_in_place(lines, *old, *value) : remove_in_place(lines, *old);
  } else if (value && around != nullptr && !steps.back().index) {
    add_in_place(lines, *around, steps.back().key, *value);
  }
  std::string out = lines.text();
  if (value && around == nullptr) add_section(out, steps, *value);
  return out;
}

// Sorts keys, as their order has no meaning.
Value in_order(Value value) {
  for (Value& item : value.items) item = in_order(std::move(item));
  for (Value::Field& field : value.fields) field.value = in_order(std::move(field.value));
  std::sort(value.fields.begin(), value.fields.end(),
            [](const Value::Field& a, const Value::Field& b) { return a.key < b.key; });
  return value;
}

bool reads_as(const std::string& text, const Value& wanted, const std::string& name) {
  try {
    return emit_yaml(in_order(parse_yaml(text, name))) == emit_yaml(in_order(wanted));
  } catch (const Error&) {
    return false;
  }
}

std::string edited_once(const std::string& text, const KeyEdit& edit, const std::string& name) {
  const Location where{name, 0, 0};
  check_characters(edit.key, name, "expected a key in UTF-8");
  Value root = parse_yaml(text, name);
  const Steps steps = KeyPath(edit.key, where).steps();
  Value wanted = root;
  std::optional<std::string> value;
  if (edit.value) {
    Value stated = parse_yaml(*edit.value, edit.key);
    value = emit_flow_yaml(stated);
    KeyPath(edit.key, where).assign(wanted, std::move(stated), where);
  } else {
    take_out(wanted, steps);
  }
  const std::string small = with_small_change(text, root, steps, value);
  return reads_as(small, wanted, name) ? small : emit_yaml(wanted);
}

}  // namespace

std::string edited(std::string text, const std::vector<KeyEdit>& edits, const std::string& name) {
  for (const KeyEdit& edit : edits) text = edited_once(text, edit, name);
  return text;
}

}  // namespace mirfak::serve
