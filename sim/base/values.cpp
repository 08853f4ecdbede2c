#include "base/values.hpp"

#include "base/yaml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace mirfak {

Value word_value(std::string word) {
  Value out;
  out.kind = Value::Kind::scalar;
  out.scalar = std::move(word);
  return out;
}

Value quoted_value(std::string text) {
  Value out = word_value(std::move(text));
  out.quoted = true;
  return out;
}

Value scalar_value(double number) { return word_value(fmt::format("{}", number)); }
Value scalar_value(std::int64_t number) { return word_value(fmt::format("{}", number)); }
Value scalar_value(int number) { return word_value(fmt::format("{}", number)); }
Value scalar_value(bool truth) { return word_value(truth ? "true" : "false"); }

Value list_value(std::vector<Value> items) {
  Value out;
  out.kind = Value::Kind::sequence;
  out.items = std::move(items);
  return out;
}

void put_over(Value& other, const Value& own, const FieldMerge& instead) {
  for (const Value::Field& field : own.fields) {
    const auto known = std::ranges::find(other.fields, field.key, &Value::Field::key);
    if (known == other.fields.end()) {
      other.fields.push_back(field);
    } else if (instead(other, *known, field.value)) {
      continue;
    } else if (known->value.kind == Value::Kind::mapping && field.value.kind == Value::Kind::mapping) {
      put_over(known->value, field.value, instead);
    } else {
      known->value = field.value;
    }
  }
}

Value mapping_value(std::vector<Value::Field> fields) {
  Value out;
  out.kind = Value::Kind::mapping;
  out.fields = std::move(fields);
  return out;
}

namespace {

void add_line(const Value& value, bool quotes, std::string& out) {
  const char* between = "";
  switch (value.kind) {
    case Value::Kind::null:
      out += "null";
      return;
    case Value::Kind::scalar:
      out += quotes && value.quoted ? quoted_yaml(value.scalar) : value.scalar;
      return;
    case Value::Kind::sequence:
      out += '[';
      for (const Value& item : value.items) {
        out += std::exchange(between, ", ");
        add_line(item, quotes, out);
      }
      out += ']';
      return;
    case Value::Kind::mapping:
      out += '{';
      for (const Value::Field& field : value.fields) {
        out += std::exchange(between, ", ");
        out.append(field.key).append(": ");
        add_line(field.value, quotes, out);
      }
      out += '}';
  }
}

}  // namespace

std::string line_of(const Value& value, bool quotes) {
  std::string out;
  add_line(value, quotes, out);
  return out;
}

}  // namespace mirfak
