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
