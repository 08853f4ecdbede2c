// A value that a program makes is written as YAML that reads back as the same value.

#include "base/values.hpp"

#include "base/yaml.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace mirfak;

TEST_CASE("values on one line") {
  const Value value = mapping_value({{"rank", scalar_value(8)},
                                     {"share", scalar_value(0.25)},
                                     {"on", scalar_value(true)},
                                     {"targets", list_value({word_value("qkv"), quoted_value("a \"b\"\nc\\")})},
                                     {"none", Value()},
                                     {"sizes", list_value({scalar_value(1), scalar_value(2)})}});
  const std::string line =
      "{rank: 8, share: 0.25, on: true, targets: [qkv, \"a \\\"b\\\"\\nc\\\\\"], none: null, sizes: [1, 2]}";
  CHECK(line_of(value) == line);
  CHECK(line_of(parse_yaml(line, "line")) == line);
  CHECK(line_of(quoted_value("/a path"), false) == "/a path");
  CHECK(parse_yaml(line_of(quoted_value("a\nb")), "line").scalar == "a\nb");
}

TEST_CASE("fields of one mapping are put over those of another, mapping by mapping") {
  const auto parsed = [](const char* text) { return parse_yaml(text, "text"); };
  Value value = parsed("{a: 1, b: {c: 2, d: 3}, e: [4]}");
  const Value own = parsed("{b: {c: 5, f: 6}, e: [7], g: 8, a: drop}");
  put_over(value, own, [](Value& mapping, Value::Field& known, const Value& stated) {
    if (stated.scalar != "drop") return false;
    mapping.fields.erase(mapping.fields.begin() + (&known - mapping.fields.data()));
    return true;
  });
  CHECK(line_of(value) == "{b: {c: 5, d: 3, f: 6}, e: [7], g: 8}");
}
