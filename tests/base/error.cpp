#include "base/error.hpp"

#include <doctest/doctest.h>

using namespace mirfak;

namespace {

std::string shown(const Location& where, const std::string& line, const std::string& hint = {}) {
  return Error(ErrorKind::input, where, "wrong", hint, line).what();
}

}  // namespace

TEST_CASE("a location shows what is known of it") {
  CHECK(Location{"s.yaml", 3, 11}.text() == "s.yaml:3:11");
  CHECK(Location{"--set a=1", 0, 0}.text() == "--set a=1");
  CHECK(Location{}.text() == "");
}

TEST_CASE("the caret stands under the column") {
  CHECK(shown({"s.yaml", 3, 5}, "  a: 8", "use 4") ==
        "s.yaml:3:5: wrong\n"
        "    3 |   a: 8\n"
        "      |     ^\n"
        "  use 4");
}

TEST_CASE("without a line or a place, only the message") {
  CHECK(shown({"--set a=1", 0, 0}, "") == "--set a=1: wrong");
  CHECK(shown({}, "") == "wrong");
  CHECK(shown({"s.yaml", 3, 5}, "") == "s.yaml:3:5: wrong");
}

TEST_CASE("the caret counts characters, not bytes, and tabs as one column") {
  CHECK(shown({"s.yaml", 1, 5}, "ä: x") ==  // ä is two bytes
        "s.yaml:1:5: wrong\n"
        "    1 | ä: x\n"
        "      |    ^");
  CHECK(shown({"s.yaml", 1, 2}, "\tx") ==
        "s.yaml:1:2: wrong\n"
        "    1 |  x\n"
        "      |  ^");
}

TEST_CASE("of a long line the part around the column is shown") {
  std::string line(2001, 'a');
  line[1000] = 'X';
  const std::string text = shown({"s.yaml", 1, 1001}, line);
  CHECK(text.size() < 350);
  const std::size_t quoted = text.find("| ");
  const std::size_t caret = text.find('^');
  const std::size_t second = text.find("| ", quoted + 2);
  CHECK(text[quoted + (caret - second)] == 'X');
}

TEST_CASE("a column beyond the line has no caret") {
  CHECK(shown({"s.yaml", 1, 50}, "short").find('^') == std::string::npos);
  CHECK(shown({"s.yaml", 1, 6}, "short").find('^') != std::string::npos);  // the end of the line has one
}

TEST_CASE("the parts of an error can be asked for") {
  try {
    fail_infeasible({"s.yaml", 2, 3}, "does not fit", "use more GPUs");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::infeasible);
    CHECK(error.where().line == 2);
    CHECK(error.message() == "does not fit");
    CHECK(error.hint() == "use more GPUs");
  }
  CHECK_THROWS_AS(fail_internal("disk full"), Error);
}

TEST_CASE("what a message quotes has 200 bytes at most, a path more") {
  const std::string letters(300, 'x');
  const std::string cut = std::string(200, 'x') + "...";
  CHECK(Error(ErrorKind::input, {}, "no key " + letters + " is known", "not " + letters).message() ==
        "no key " + cut + " is known");
  CHECK(Error(ErrorKind::input, {}, "wrong", "not " + letters).hint() == "not " + cut);
  // Between quotation marks blanks count.
  std::string words = "'";
  for (int i = 0; i < 1000; ++i) words += "ab ";
  const Error quoted(ErrorKind::input, {}, "found " + words + "', expected more");
  CHECK(quoted.message().size() < 250);
  CHECK(quoted.message().ends_with("', expected more"));
  const std::string path = "/" + letters + "/file.yaml";
  CHECK(Error(ErrorKind::input, {}, "there is no " + path).message() == "there is no " + path);
  // Characters stay whole: each of these has two bytes.
  std::string umlauts = "a";
  for (int i = 0; i < 150; ++i) umlauts += "\xc3\xa4";
  const std::string shown = Error(ErrorKind::input, {}, umlauts).message();
  CHECK(shown.size() == 199 + 3);
  // Many words are no quote.
  std::string prose;
  for (int i = 0; i < 100; ++i) prose += "a plain word ";
  CHECK(Error(ErrorKind::input, {}, prose).message() == prose);
}
