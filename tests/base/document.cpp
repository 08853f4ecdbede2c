#include "base/document.hpp"

#include "failure.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

namespace document_test {

using namespace mirfak;

namespace {

Document read(std::string text) { return Document::from_text(std::move(text), "in.yaml"); }

std::string failure_reading(const std::string& text) {
  return failure_of([&] { read(text); });
}

// The value at a path of keys.
Node at(const Document& document, std::initializer_list<const char*> keys) {
  Node node(document);
  for (const char* key : keys) node = Mapping(node).require(key);
  return node;
}

}  // namespace

TEST_CASE("every value knows its line and column") {
  const Document document = read("strategy:\n  tensor: 8\n  pipeline: [1, 22]\n");
  CHECK(at(document, {"strategy", "tensor"}).where().text() == "in.yaml:2:11");
  CHECK(at(document, {"strategy", "tensor"}).value().key_where.text() == "in.yaml:2:3");
  CHECK(at(document, {"strategy", "pipeline"}).as_items()[1].where().text() == "in.yaml:3:17");
  CHECK(at(document, {"strategy", "pipeline"}).as_items()[1].path() == "strategy.pipeline[1]");
}

TEST_CASE("fields keep the order of the file") {
  const Document document = read("zebra: 1\napple: 2\nmango: 3\n");
  CHECK(Mapping(Node(document)).keys() == std::vector<std::string>{"zebra", "apple", "mango"});
}

TEST_CASE("JSON is read as the YAML it is") {
  const Document document = read("{\"a\": {\"b\":[1, 2.5, true, null, \"text\\n\"]}}");
  const std::vector<Node> items = at(document, {"a", "b"}).as_items();
  CHECK(items[0].as_integer(0, 10) == 1);
  CHECK(items[1].as_number(0, 10) == 2.5);
  CHECK(items[2].as_bool());
  CHECK(items[3].is_null());
  CHECK(items[4].as_string() == "text\n");
}

TEST_CASE("JSON may be indented with tabs") {
  const Document document = read("{\n\t\"a\": 1,\n\t\"b\": {\n\t\t\"c\": 2\n\t}\n}\n");
  CHECK(at(document, {"a"}).as_integer(0, 9) == 1);
  CHECK(at(document, {"b", "c"}).as_integer(0, 9) == 2);
  CHECK(at(document, {"b", "c"}).where().line == 4);
}

TEST_CASE("line ends and byte order mark of other systems are read, and places stay right") {
  const Document document = read(
      "\xef\xbb\xbf"
      "a: 1\r\nb: x\r\n");
  CHECK(at(document, {"a"}).where().text() == "in.yaml:1:4");
  CHECK(at(document, {"b"}).where().text() == "in.yaml:2:4");
  CHECK(document.line(1) == "a: 1");
  CHECK(document.line(2) == "b: x");
  CHECK(document.line(9) == "");
}

TEST_CASE("an empty file is an empty mapping, and what must be there is missing") {
  for (const std::string text : {"", "\n\n", "# only a comment\n", "---\n", "~\n"}) {
    CAPTURE(text);
    const Document document = read(text);
    CHECK(Node(document).is_null());
    Mapping in{Node(document)};
    CHECK(contains(failure_of([&] { in.require("model"); }), "the key 'model' is missing"));
    CHECK(Node(document).where().file == "in.yaml");
    in.finish();
  }
}

TEST_CASE("whole numbers") {
  const auto integer = [](const std::string& text) {
    return at(read("n: " + text), {"n"}).as_integer(-1000, std::int64_t{1} << 53);
  };
  CHECK(integer("0") == 0);
  CHECK(integer("-7") == -7);
  CHECK(integer("+7") == 7);
  CHECK(integer("300e9") == 300'000'000'000);
  CHECK(integer("2.0") == 2);
  CHECK(integer("9007199254740992") == std::int64_t{1} << 53);
  for (const std::string text : {"1.5",  "'7'", "\"7\"", "seven", "7 8",   "0x10",   "+-7", "++7", "+",     "nan",
                                 ".inf", "inf", "-1001", "1e16",  "1e400", "-1e400", "[7]", "{}",  "1_000", "1,000"}) {
    CAPTURE(text);
    CHECK(contains(failure_of([&] { integer(text); }), "in.yaml:1:4: n: "));
  }
  CHECK(contains(failure_of([&] { integer("9007199254740994"); }), "expected a whole number of at least -1000"));
}

TEST_CASE("a number that a double cannot hold is refused, not rounded to zero or infinity") {
  for (const std::string text : {"1e400", "-1e400", "1e-400"}) {
    CAPTURE(text);
    const Document document = read("n: " + text);
    CHECK(contains(failure_of([&] { at(document, {"n"}).as_number(-1e308, 1e308); }), "too large or too small"));
  }
}

TEST_CASE("booleans are the words true and false, unquoted") {
  CHECK(at(read("b: true"), {"b"}).as_bool());
  CHECK_FALSE(at(read("b: False"), {"b"}).as_bool());
  for (const std::string text : {"yes", "1", "'true'", "on", "[true]"}) {
    CAPTURE(text);
    const Document document = read("b: " + text);
    CHECK(contains(failure_of([&] { at(document, {"b"}).as_bool(); }), "expected true or false, found"));
  }
}

TEST_CASE("a choice gives its index, and its error the nearest name") {
  const std::vector<std::string> names = {"none", "selective", "full"};
  CHECK(at(read("r: selective"), {"r"}).as_choice(names) == 1);
  const Document document = read("r: selectiv");
  const std::string failure = failure_of([&] { at(document, {"r"}).as_choice(names); });
  CHECK(contains(failure, "in.yaml:1:4: r: expected none, selective or full, found 'selectiv'"));
  CHECK(contains(failure, "did you mean 'selective'?"));
}

TEST_CASE("an unknown key is an error at the key, with the nearest known one") {
  const Document document = read("strategy:\n  tensr: 8\n");
  Mapping strategy(at(document, {"strategy"}));
  strategy.integer_or("tensor", 1);
  strategy.integer_or("pipeline", 1);
  const std::string failure = failure_of([&] { strategy.finish(); });
  CHECK(contains(failure, "in.yaml:2:3: strategy.tensr: unknown key"));
  CHECK(contains(failure, "did you mean 'tensor'?"));
  CHECK(contains(failure, "    2 |   tensr: 8\n      |   ^"));
}

TEST_CASE("a missing key names the misspelt one") {
  const Document document = read("modle: gpt\n");
  Mapping in{Node(document)};
  CHECK(contains(failure_of([&] { in.require("model"); }), "is 'modle' meant to be 'model'?"));
}

TEST_CASE("syntax errors, duplicate keys, tags and second documents name their place") {
  CHECK(contains(failure_reading("a: [1, 2\n"), "not valid YAML"));
  CHECK(contains(failure_reading("a: 1\nb: 2\na: 3\n"), "in.yaml:3:1: the key 'a' stands here twice"));
  CHECK(contains(failure_reading("{\"a\": 1, \"a\": 2}"), "in.yaml:1:10: the key 'a' stands here twice"));
  CHECK(contains(failure_reading("a: !!str 5\n"), "the tag 'tag:yaml.org,2002:str' has no meaning here"));
  CHECK(contains(failure_reading("a: 1\n---\nb: 2\n"), "a second document starts here"));
  CHECK(contains(failure_reading("[1, 2]: x\n"), "a key must be a plain word"));
  CHECK(contains(failure_reading("a: *nowhere\n"), "in.yaml:1:4"));
}

TEST_CASE("nothing after the end of a JSON object is dropped in silence") {
  CHECK_FALSE(failure_reading("{\"a\": 1} {\"b\": 2}").empty());
  CHECK_FALSE(failure_reading("{\"a\": 1}}").empty());
}

TEST_CASE("an alias is a copy of what it names") {
  const Document document = read("a: &x {n: 1}\nb: *x\n");
  CHECK(at(document, {"b", "n"}).as_integer(0, 9) == 1);
  CHECK(at(document, {"b"}).value().key_where.text() == "in.yaml:2:1");
}

TEST_CASE("files that are not there, are folders or never end") {
  CHECK(contains(failure_of([] { Document::from_file("no/such/file.yaml"); }),
                 "no/such/file.yaml: there is no such file"));
  CHECK(contains(failure_of([] { Document::from_file("/"); }), "this is a folder"));
  if (std::filesystem::exists("/dev/zero")) {
    CHECK(contains(failure_of([] { Document::from_file("/dev/zero"); }), "larger than 2 MiB"));
  }
}

TEST_CASE("overrides replace, create and index") {
  Document document = read("cluster:\n  nodes: [{type: a, count: 1}, {type: b, count: 2}]\n");
  document.override_value("cluster.nodes[1].count=48");
  document.override_value("strategy.tensor=4");
  document.override_value("strategy.recompute=");
  document.override_value("cluster.fabric={type: rail, oversubscription: 2.0}");
  CHECK(at(document, {"cluster", "nodes"}).as_items()[0].value().find("count")->scalar == "1");
  CHECK(at(document, {"cluster", "nodes"}).as_items()[1].value().find("count")->scalar == "48");
  CHECK(at(document, {"strategy", "tensor"}).as_integer(1, 9) == 4);
  CHECK_FALSE(Mapping(at(document, {"strategy"})).has("recompute"));
  CHECK(at(document, {"cluster", "fabric", "oversubscription"}).as_number(0, 9) == 2);
}

TEST_CASE("overrides work on an empty document and on nested lists") {
  Document empty = read("");
  empty.override_value("a.b.c=1");
  CHECK(at(empty, {"a", "b", "c"}).as_integer(0, 9) == 1);

  Document lists = read("m: [[1, 2], [3, 4]]\n");
  lists.override_value("m[1][0]=9");
  CHECK(at(lists, {"m"}).as_items()[1].as_items()[0].as_integer(0, 9) == 9);
}

TEST_CASE("an error in an overridden value names the override") {
  Document document = read("strategy: {tensor: 8}\n");
  document.override_value("strategy.tensor=eight");
  CHECK(contains(failure_of([&] {
                   at(document, {"strategy", "tensor"}).as_integer(1, 9);
                 }),
                 "--set strategy.tensor=eight: strategy.tensor: expected a whole number, found 'eight'"));
}

TEST_CASE("an unknown key that an override creates names the override, on every level") {
  Document document = read("strategy: {tensor: 8}\n");
  document.override_value("strategi.tensor=4");
  Mapping in{Node(document)};
  in.find("strategy");
  CHECK(contains(failure_of([&] { in.finish(); }), "--set strategi.tensor=4: strategi: unknown key"));
}

TEST_CASE("overrides that cannot be applied") {
  const auto failure = [](const std::string& assignment) {
    return failure_of([&] { read("a: [1, 2]\nb: 3\n").override_value(assignment); });
  };
  CHECK(contains(failure("a"), "--set a: expected key=value"));
  CHECK(contains(failure("=1"), "expected key=value"));
  CHECK(contains(failure("a[2]=1"), "index 2 is outside the list, whose length is 2"));
  CHECK(contains(failure("a[99999999999999999999999]=1"), "expected an index"));
  CHECK(contains(failure("a[-1]=1"), "expected an index such as [0], found [-1]"));
  CHECK(contains(failure("a[]=1"), "expected an index"));
  CHECK(contains(failure("a[0=1"), "without its ]"));
  CHECK(contains(failure("a[0]b=1"), "expected . or [ after ]"));
  CHECK(contains(failure("b[0]=1"), "not a list"));
  CHECK(contains(failure("b.c=1"), "'c' is asked of a value that is not a mapping"));
  CHECK(contains(failure("a.=1"), "empty key"));
  CHECK(contains(failure(".a=1"), "empty key"));
  CHECK(contains(failure("a..b=1"), "empty key"));
  CHECK(contains(failure("b=[1"), "--set b=[1: not valid YAML"));
  CHECK(contains(failure("b=FILL_IN"), "--set b=FILL_IN: FILL_IN stands for a value that is still to be filled in"));
  CHECK(contains(failure("b={c: [FILL_IN, 2]}"), "still to be filled in"));
}

TEST_CASE("the YAML of a document reads back as the same document") {
  Document document =
      read("a: {b: [1, 'two', \"3\", ~, {c: true, d: ''}], e: {}}\nf: |\n  lines\n  of text\ng: 'null'\n'h: i': 1\n");
  document.override_value("a.x.y=[1, 2]");
  const Document again = Document::from_text(document.to_yaml(), "again.yaml");
  CHECK(again.to_yaml() == document.to_yaml());
  CHECK(at(again, {"f"}).as_string() == "lines\nof text\n");
  CHECK(at(again, {"g"}).as_string() == "null");
  CHECK(at(again, {"h: i"}).as_integer(0, 9) == 1);
  CHECK(at(again, {"a", "b"}).as_items()[2].value().quoted);
  CHECK(at(again, {"a", "x", "y"}).as_items().size() == 2);
}

TEST_CASE("words that look like YAML's own signs survive writing and reading") {
  for (const std::string quoted :
       {R"("---")", R"("...")",  R"("-")",  R"("- a")",  R"("null")",   R"("~")",     R"("")",   R"(" ")",  R"("a: b")",
        R"("#")",   R"("a #b")", R"("*a")", R"("&a")",   R"("!a")",     R"("%a")",    R"("@")",  R"("`")",  R"("{")",
        R"("[")",   R"("|")",    R"(">")",  R"("?")",    R"("? a")",    R"("'")",     R"("\"")", R"("\t")", R"("a\nb")",
        R"("\r")",  R"("ä")",    R"("\\")", R"("\x07")", R"("\uFEFF")", R"("\u2028")"}) {
    CAPTURE(quoted);
    const Document document = read(quoted + ": " + quoted);
    const Document again = read(document.to_yaml());
    REQUIRE(again.root().fields.size() == 1);
    CHECK(again.root().fields[0].key == document.root().fields[0].key);
    CHECK(again.root().fields[0].value.scalar == document.root().fields[0].value.scalar);
    CHECK(read(read(quoted).to_yaml()).root().scalar == document.root().fields[0].key);
  }
}

TEST_CASE("a plain number, word or truth value stays plain") {
  CHECK(read("a: [-1.5, 300e9, +1, true, 1e-5, .5, full, a/b.yaml]\n").to_yaml() ==
        "a: [-1.5, 300e9, +1, true, 1e-5, .5, full, a/b.yaml]\n");
}

}  // namespace document_test
