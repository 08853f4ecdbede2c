// Programs whose output nobody reads.

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

TEST_CASE("a limit on the size of files is a failure that says so, and leaves nothing") {
  const ScratchFolder folder;
  for (const char* option : {"--trace t.h5", "--timeline t.json", "--report t.html"}) {
    CAPTURE(option);
    const std::string command = "mirfak simulate scenarios/gpt-22b-a100-seqpar.yaml --detail operators ";
    const Finished finished = run_shell("ulimit -f 16; " + command + option, folder.path());
    CHECK(finished.signal == 0);
    CHECK(finished.status == 1);
    CHECK(finished.err.find("beyond the limit on the size of files") != std::string::npos);
    CHECK(folder.names().empty());
  }
  const Finished printed = run_shell("ulimit -f 1; mirfak list prices > prices.txt", folder.path());
  CHECK(printed.status == 1);
  CHECK(printed.err.starts_with("mirfak: error: cannot write to standard output: "));
}

TEST_CASE("a name of a file that holds anything is shown, not obeyed") {
  const ScratchFolder folder;
  const std::string odd = "o\033[2J\xff\n.yaml";
  folder.write(odd, read_text(folder.path() / "scenarios" / "gpt-22b-a100-seqpar.yaml"));
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"simulate", odd}, {"simulate", odd, "--format", "json"}, {"simulate", "x" + odd}}) {
    const Finished finished = run(Invocation{arguments, folder.path()});
    const std::string all = finished.out + finished.err;
    const bool says_name = finished.out.find('{') != 0;  // JSON does not
    if (says_name) CHECK(all.find("2J") != std::string::npos);
    CHECK(all.find('\033') == std::string::npos);
    CHECK(all.find('\xff') == std::string::npos);
  }
  REQUIRE(run(Invocation{{"simulate", odd, "--report", "r.html"}, folder.path()}).status == 0);
  const std::string page = read_text(folder.path() / "r.html");
  CHECK(page.find('\xff') == std::string::npos);
  CHECK(page.find('\033') == std::string::npos);
}
