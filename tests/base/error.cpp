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
