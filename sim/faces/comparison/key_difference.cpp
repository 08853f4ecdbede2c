#include "comparison/key_difference.hpp"

#include "base/yaml.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace mirfak {

namespace {

struct KeyValue {
  std::string key;
  std::string value;
};

bool has_mappings(const Value& value) {
  return std::any_of(value.items.begin(), value.items.end(),
                     [](const Value& item) { return item.kind == Value::Kind::mapping; });
}

// Flattens a value down to scalars and lists of scalars. A list of scalars is compared as a whole: one value more is
// one difference.
void flatten(const Value& value, const std::string& key, std::vector<KeyValue>& out) {
  if (value.kind == Value::Kind::mapping && !value.fields.empty()) {
    for (const Value::Field& field : value.fields) {
      flatten(field.value, key.empty() ? field.key : key + "." + field.key, out);
    }
  } else if (value.kind == Value::Kind::sequence && has_mappings(value)) {
    for (std::size_t i = 0; i < value.items.size(); ++i) {
      flatten(value.items[i], fmt::format("{}[{}]", key, i), out);
    }
  } else {
    out.push_back({key, emit_flow_yaml(value)});
  }
}

std::vector<KeyValue> keys_of(const Value& completed) {
  std::vector<KeyValue> out;
  flatten(completed, {}, out);
  return out;
}

const std::string* value_of(const std::vector<KeyValue>& keys, const std::string& key) {
  const auto found = std::find_if(keys.begin(), keys.end(), [&](const KeyValue& entry) { return entry.key == key; });
  return found == keys.end() ? nullptr : &found->value;
}

}  // namespace

std::vector<KeyDifference> key_differences(const Value& a, const Value& b) {
  const std::vector<KeyValue> of_a = keys_of(a);
  const std::vector<KeyValue> of_b = keys_of(b);
  std::vector<KeyDifference> out;
  for (const KeyValue& entry : of_a) {
    const std::string* other = value_of(of_b, entry.key);
    if (other == nullptr) {
      out.push_back({entry.key, entry.value, std::nullopt});
    } else if (*other != entry.value) {
      out.push_back({entry.key, entry.value, *other});
    }
  }
  for (const KeyValue& entry : of_b) {
    if (value_of(of_a, entry.key) == nullptr) out.push_back({entry.key, std::nullopt, entry.value});
  }
  return out;
}

}  // namespace mirfak
