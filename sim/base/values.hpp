#pragma once

#include "base/document.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace mirfak {

// Values that a program makes. They have no place in a file. A word is written as it stands; text that YAML could read
// as something else is quoted_value(), or is read by parse_yaml().
Value word_value(std::string word);
Value quoted_value(std::string text);
Value scalar_value(double number);
Value scalar_value(std::int64_t number);
Value scalar_value(int number);
Value scalar_value(bool truth);
Value list_value(std::vector<Value> items = {});
Value mapping_value(std::vector<Value::Field> fields = {});

// Puts the fields of `own` over those of `other`: mappings that both have are merged, other values are replaced, and
// fields that `other` lacks are added. `instead` sees each field that both have, in the mapping `other`, first; true:
// nothing more is to be done with the field.
using FieldMerge = std::function<bool(Value& other, Value::Field& known, const Value& own)>;
void put_over(Value& other, const Value& own, const FieldMerge& instead);

// Returns the value on one line: "{rank: 8, targets: [qkv, proj]}". `quotes`: false leaves out quotes, for messages.
std::string line_of(const Value& value, bool quotes = true);

}  // namespace mirfak
