// What the program does when nobody reads what it prints.

#include "program.hpp"

#include <doctest/doctest.h>

using namespace mirfak::test;

TEST_CASE("a reader that leaves early is no failure") {
  const Finished finished = run(Invocation{{"list", "prices"}, {}, {}, Output::closed_reader});
  CHECK(finished.signal == 0);
  CHECK(finished.status == 0);
  CHECK(finished.err.empty());
}

TEST_CASE("output that cannot be written is a failure that says why") {
  for (const Output output : {Output::full_device, Output::closed}) {
    const Finished finished = run(Invocation{{"list", "models"}, {}, {}, output});
    CHECK(finished.signal == 0);
    CHECK(finished.status == 1);
    CHECK(finished.err.starts_with("mirfak: error: cannot write to standard output: "));
  }
}

TEST_CASE("without standard output, no file takes its place") {
  const ScratchFolder folder;
  const std::vector<std::string> arguments = {"simulate", "scenarios/gpt-22b-a100-seqpar.yaml", "--timeline", "t.json"};
  REQUIRE(run(Invocation{arguments, folder.path()}).status == 0);
  const std::string expected = read_text(folder.path() / "t.json");
  const Finished finished = run(Invocation{arguments, folder.path(), {}, Output::closed});
  CHECK(finished.status == 1);
  CHECK(read_text(folder.path() / "t.json") == expected);
}
