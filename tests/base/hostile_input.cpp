// Inputs of a few bytes or kilobytes that make a careless reader allocate, recurse or run without end.
#include "base/document.hpp"

#include "failure.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace mirfak;

namespace {

std::string failure_reading(const std::string& text) {
  return failure_of([&] { Document::from_text(text, "in.yaml"); });
}

std::string repeated(const std::string& part, std::size_t count) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) out += part;
  return out;
}

}  // namespace

TEST_CASE("nesting is allowed to 64 levels in every notation, and refused beyond without recursion") {
  Document::from_text(repeated("[", 63) + "1" + repeated("]", 63), "in.yaml");
  CHECK(contains(failure_reading(repeated("[", 64) + "1" + repeated("]", 64)), "nested deeper than 64 levels"));
  for (const std::size_t depth : {100U, 1000U, 100'000U}) {
    CAPTURE(depth);
    CHECK(contains(failure_reading(repeated("[", depth)), "in.yaml:1:"));
    CHECK(contains(failure_reading(repeated("{a: ", depth)), "in.yaml:1:"));
    CHECK(contains(failure_reading(repeated("- ", depth)), "in.yaml:1:"));
    CHECK(contains(failure_reading(repeated("? ", depth)), "in.yaml:1:"));
  }
}

TEST_CASE("an override cannot nest deeper than a file can") {
  Document document = Document::from_text("", "in.yaml");
  CHECK(contains(failure_of([&] { document.override_value(repeated("a.", 70) + "a=1"); }), "too long"));
  const std::string long_path = repeated("a.", 40) + "a=";
  CHECK(contains(failure_of([&] { document.override_value(long_path + repeated("[", 40) + repeated("]", 40)); }),
                 "nests too deep"));
  document.override_value(long_path + repeated("[", 10) + repeated("]", 10));
  Document::from_text(document.to_yaml(), "again.yaml");
}

TEST_CASE("aliases that expand to billions of values are refused at the first 200,000") {
  std::string text = "level0: &level0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (char level = '1'; level <= '9'; ++level) {
    const std::string name = std::string("level") + level;
    const std::string below = std::string("*level") + static_cast<char>(level - 1);
    text.append(name).append(": &").append(name).append(" [").append(below);
    for (int copy = 1; copy < 10; ++copy) text.append(", ").append(below);
    text.append("]\n");
  }
  CHECK(contains(failure_reading(text), "more than 200000 keys and values"));
}

TEST_CASE("aliases that repeat a long text are refused") {
  std::string text = "a: &a ";
  text.append(1'000'000, 'x').append("\nb: [").append(repeated("*a, ", 1000)).append("]\n");
  CHECK(contains(failure_reading(text), "expand to more than 8 MiB"));
}

TEST_CASE("an alias inside the value it names is refused") {
  CHECK(contains(failure_reading("&a [*a]"), "in.yaml:1:5: this alias stands inside the value that it names"));
  CHECK(contains(failure_reading("a: &a {b: {c: *a}}"), "in.yaml:1:15"));
}

TEST_CASE("a hundred thousand keys are compared with each other in reasonable time") {
  std::string text;
  for (int i = 0; i < 99'000; ++i) text.append("k").append(std::to_string(i)).append(": 1\n");
  CHECK(Document::from_text(text, "in.yaml").root().fields.size() == 99'000);
}

TEST_CASE("bytes that are not UTF-8 text are refused where they stand") {
  CHECK(contains(failure_reading("a: 1\nb: x\xff\n"), "in.yaml:2:5: the byte 0xff is not UTF-8 text"));
  CHECK(contains(failure_reading("a: \xc3"), "in.yaml:1:4: the byte 0xc3"));
  CHECK(contains(failure_reading("a: \xc0\xaf"), "in.yaml:1:4: the byte 0xc0"));
  CHECK(contains(failure_reading("a: \xed\xa0\x80"), "in.yaml:1:4: the byte 0xed"));
  CHECK(contains(failure_reading(std::string("a: \0b", 5)), "in.yaml:1:4: the control character 0x00"));
  CHECK(contains(failure_reading("a: \x1b[31m"), "the control character 0x1b"));
  CHECK(contains(failure_reading(std::string("\xff\xfe"
                                             "a\0:\0",
                                             6)),
                 "in.yaml:1:1: the byte 0xff"));
}

TEST_CASE("escapes cannot smuggle in bytes that are not UTF-8") {
  const Document spaces = Document::from_text(R"(a: "\N\_")", "in.yaml");
  CHECK(Mapping(Node(spaces)).require("a").as_string() == "\xc2\x85\xc2\xa0");
  CHECK_FALSE(failure_reading(R"(a: "\ud83d\ude00")").empty());  // half a character each
  const Document document = Document::from_text(R"(a: "\xff\u00e4\U0001F680")", "in.yaml");
  CHECK(Mapping(Node(document)).require("a").as_string() == "ÿä🚀");
}

TEST_CASE("text in any language is kept as it is") {
  const Document document = Document::from_text("name: größe 模型 🚀\n", "in.yaml");
  CHECK(Mapping(Node(document)).require("name").as_string() == "größe 模型 🚀");
}

TEST_CASE("keys are words, not texts") {
  const std::string key = repeated("k", 128);
  CHECK(Document::from_text(key + ": 1", "in.yaml").root().fields[0].key == key);
  CHECK(contains(failure_reading(key + "k: 1"), "a key longer than 128 bytes"));
  Document document = Document::from_text("", "in.yaml");
  CHECK(contains(failure_of([&] { document.override_value(key + "k=1"); }), "too long"));
}

TEST_CASE("a file that is too large is refused before it is parsed") {
  CHECK(contains(failure_reading(std::string((2U << 20U) + 1, ' ')), "larger than 2 MiB"));
}

TEST_CASE("messages quote a part of what is long, and no control characters") {
  const Document document = Document::from_text("b: \"\\e[31m\"\na: " + repeated("x", 5000), "in.yaml");
  Mapping in{Node(document)};
  CHECK(failure_of([&] { in.require("a").as_bool(); }).size() < 400);
  CHECK_FALSE(contains(failure_of([&] { in.require("b").as_bool(); }), "\x1b"));
}
