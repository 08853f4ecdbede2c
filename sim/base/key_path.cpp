#include "base/key_path.hpp"

#include "base/text.hpp"
#include "base/yaml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace mirfak {

namespace {

using Step = KeyPath::Step;

Step parse_index(std::string_view text, const Location& where) {
  std::size_t index = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  if (text.empty() || error != std::errc() || stop != text.data() + text.size()) {
    fail_input(where, fmt::format("expected an index such as [0], found [{}]", excerpt(text)));
  }
  return {{}, index};
}

// Parses a path: "cluster.nodes[0].count" is the keys cluster and nodes, the index 0, and the key count.
std::vector<Step> parse_path(std::string_view path, const Location& where) {
  std::vector<Step> steps;
  std::size_t at = 0;
  while (true) {
    const std::size_t key_end = std::min(path.find_first_of(".[", at), path.size());
    if (key_end > at) steps.push_back({std::string(path.substr(at, key_end - at)), {}});
    if (key_end == at && (at >= path.size() || path[at] == '.')) {
      fail_input(where, "the path has an empty key", "expected a path such as cluster.nodes[0].count");
    }
    if (key_end - at > kMaxKeyBytes) fail_input(where, "the path has a key that is too long");
    at = key_end;
    while (at < path.size() && path[at] == '[') {
      const std::size_t close = std::min(path.find(']', at), path.size());
      steps.push_back(parse_index(path.substr(at + 1, close - at - 1), where));
      if (close == path.size()) fail_input(where, "the path has a [ without its ]");
      at = close + 1;
    }
    if (steps.size() > kMaxDocumentDepth) fail_input(where, "the path is too long");
    if (at == path.size()) return steps;
    if (path[at] != '.')
      fail_input(where, fmt::format("expected . or [ after ], found '{}'", excerpt(path.substr(at))));
    ++at;
  }
}

Value& step_into(Value& value, const Step& step, const Location& where) {
  if (step.index) {
    if (value.kind != Value::Kind::sequence) fail_input(where, "the value before the index is not a list");
    if (*step.index >= value.items.size()) {
      fail_input(where,
                 fmt::format("index {} is outside the list, whose length is {}", *step.index, value.items.size()));
    }
    return value.items[*step.index];
  }
  if (value.kind == Value::Kind::null) {
    value.kind = Value::Kind::mapping;
    value.where = where;
  }
  if (value.kind != Value::Kind::mapping) {
    fail_input(where, fmt::format("'{}' is asked of a value that is not a mapping", excerpt(step.key)));
  }
  for (auto& [key, field] : value.fields) {
    if (key == step.key) return field;
  }
  Value added;
  added.where = where;
  added.key_where = where;
  return value.fields.emplace_back(Value::Field{step.key, std::move(added)}).value;
}

std::size_t depth(const Value& value) {
  std::size_t deepest = 0;
  for (const Value& item : value.items) deepest = std::max(deepest, depth(item));
  for (const Value::Field& field : value.fields) deepest = std::max(deepest, depth(field.value));
  return deepest + 1;
}

}  // namespace

KeyPath::KeyPath(std::string_view text, const Location& where) : steps_(parse_path(text, where)) {}

bool KeyPath::contains(const KeyPath& other) const {
  return steps_.size() <= other.steps_.size() && std::equal(steps_.begin(), steps_.end(), other.steps_.begin());
}

void KeyPath::assign(Value& root, Value value, const Location& where) const {
  if (steps_.size() + depth(value) > kMaxDocumentDepth) fail_input(where, "the override nests too deep");
  Value* target = &root;
  for (const Step& step : steps_) target = &step_into(*target, step, where);
  const Location key_where = target->key_where;
  *target = std::move(value);
  if (!target->key_where.known()) target->key_where = key_where;
}

}  // namespace mirfak
