#include "base/visible_text.hpp"

#include "base/error.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace mirfak;

TEST_CASE("what a terminal would obey, or could not show, is written out") {
  CHECK(visible_text("plain, \xc3\xa4\n\tand more") == "plain, \xc3\xa4\n\tand more");
  CHECK(visible_text("\033[2Jgone") == "\\u001b[2Jgone");
  CHECK(visible_text("\r\b\x7f") == "\\u000d\\u0008\\u007f");
  CHECK(visible_text("\xc2\x9b"
                     "2J") == "\\u009b2J");  // the same sequence in one character of UTF-8
  CHECK(visible_text("\xe2\x80\xae"
                     "gpj.exe") == "\\u202egpj.exe");  // turns the direction of writing
  CHECK(visible_text("a\xff\xc3") == "a\\xff\\xc3");
  CHECK(visible_name("two\nlines\t") == "two\\u000alines\\u0009");
  CHECK(visible_text(std::string("nul\0", 4)) == "nul\\u0000");
}

TEST_CASE("colours stay where a terminal takes them, and nothing else that begins like them") {
  CHECK(visible_coloured_text("\033[30;46mF\033[0m") == "\033[30;46mF\033[0m");
  CHECK(visible_coloured_text("\033[2J\033[31\033") == "\\u001b[2J\\u001b[31\\u001b");
  CHECK(visible_text("\033[0m") == "\\u001b[0m");
}

TEST_CASE("an error shows names as they are written") {
  const Error error(ErrorKind::input, {"a\033[2J\nb", 3, 1}, "no \x01", "do \x02");
  CHECK(std::string(error.what()) == "a\\u001b[2J\\u000ab:3:1: no \\u0001\n  do \\u0002");
  CHECK(error.message() == "no \\u0001");
  CHECK(error.where().file == "a\033[2J\nb");  // which still opens the file
}
