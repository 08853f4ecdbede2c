#include "program.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

namespace help_test {

using namespace mirfak::test;

namespace {

void check_fits_a_screen(const std::string& text) {
  CHECK(std::count(text.begin(), text.end(), '\n') <= 40);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) CHECK_MESSAGE(line.size() <= 120, line);
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("help fits a screen and names every command") {
  const Finished finished = run({"--help"});
  CHECK(finished.status == 0);
  CHECK(finished.err.empty());
  check_fits_a_screen(finished.out);
  for (const std::string command :
       {"simulate", "search", "frontier", "sweep", "validate", "calibrate", "replay", "list", "bench"}) {
    CAPTURE(command);
    CHECK(contains(finished.out, "\n  " + command));
    const Finished help = run({command, "--help"});
    CHECK(help.status == 0);
    CHECK(help.err.empty());
    CHECK(help.out.starts_with("usage: mirfak " + command));
    check_fits_a_screen(help.out);
  }
}

TEST_CASE("help shows the defaults that hold now") {
  CHECK(contains(run({"simulate", "--help"}).out, "(=text)"));
  const Finished elsewhere = run(Invocation{{"simulate", "--help"}, {}, {"MIRFAK_DATA=/somewhere/else"}});
  CHECK(contains(elsewhere.out, "--data FOLDER (=$MIRFAK_DATA)"));
  CHECK(contains(run({"simulate", "--help"}).out, "--data FOLDER (=built-in)"));
}

TEST_CASE("no command: the help, as an error") {
  const Finished finished = run(std::vector<std::string>{});
  CHECK(finished.status == 2);
  CHECK(finished.out.empty());
  CHECK(contains(finished.err, "usage: mirfak COMMAND"));
  CHECK(contains(finished.err, "\n  simulate"));
}

TEST_CASE("the version is the project's") {
  const std::string lists = read_text(mirfak::source_root() + "/CMakeLists.txt");
  const Finished finished = run({"--version"});
  CHECK(finished.status == 0);
  REQUIRE(finished.out.starts_with("mirfak "));
  const std::string version = finished.out.substr(7, finished.out.size() - 8);
  CHECK(contains(lists, "VERSION " + version + " "));
}

TEST_CASE("help and version are words, too") {
  CHECK(run({"help"}).out == run({"--help"}).out);
  CHECK(run({"help", "simulate"}).out == run({"simulate", "--help"}).out);
  CHECK(contains(run({"help", "simulat"}).err, "did you mean 'simulate'?"));
  CHECK(run({"help", "simulate", "search"}).status == 2);
  for (const char* word : {"version", "-v"}) CHECK(run({word}).out == run({"--version"}).out);
}

TEST_CASE("a dash is standard input, which may be read more than once") {
  const ScratchFolder folder;
  folder.write("s.yaml",
               "model: gpt3-125m\ncluster: {nodes: [{type: hgx-h100, count: 1}]}\ntraining: {global_batch: 8}\n"
               "strategy: {zero: 1}\n");
  folder.write("train.log", "{'train_runtime': 50.0, 'train_steps_per_second': 0.2, 'epoch': 1.0}\n");
  const auto time_of = [&](const std::string& line) {
    return run_shell(line + " | grep '^  time'", folder.path()).out;
  };
  const std::string time = time_of("mirfak simulate s.yaml");
  CHECK_FALSE(time.empty());
  CHECK(time_of("cat s.yaml | mirfak simulate -") == time);
  CHECK(time_of("mirfak simulate - < s.yaml") == time);
  const Finished log = run_shell("cat train.log | mirfak validate - --with s.yaml", folder.path());
  CHECK(contains(log.out, "measured   5.00 s"));
  CHECK(contains(run_shell("cat s.yaml | mirfak diff - -", folder.path()).err, "standard input is one file"));
}

TEST_CASE("an ending that stands for another format than the written one is refused") {
  const ScratchFolder folder;
  folder.write("s.yaml",
               "model: gpt3-125m\ncluster: {nodes: [{type: hgx-h100, count: 1}]}\ntraining: {global_batch: 8}\n"
               "strategy: {zero: 1}\n");
  struct Case {
    std::string option;
    std::string file;
    std::string ending;  // that is expected; "": the file is written
  };
  const std::vector<Case> cases = {{"--report", "x.pdf", ".html"},  {"--trace", "x.json", ".h5"},
                                   {"--timeline", "x.h5", ".json"}, {"--report", "x.HTML", ""},
                                   {"--timeline", "x.json", ""},    {"--trace", "x", ""}};
  for (const Case& one : cases) {
    CAPTURE(one.file);
    const Finished finished = run(Invocation{{"simulate", "s.yaml", one.option, one.file}, folder.path()});
    CHECK(finished.status == (one.ending.empty() ? 0 : 2));
    CHECK(std::filesystem::exists(folder.path() / one.file) == one.ending.empty());
    if (!one.ending.empty()) CHECK(contains(finished.err, "give it a name that ends in " + one.ending));
  }
}

TEST_CASE("durations have units") {
  const ScratchFolder folder;
  folder.write("s.yaml",
               "model: gpt3-125m\ncluster: {nodes: [{type: hgx-h100, count: 1}]}\ntraining: {global_batch: 8}\n"
               "strategy: {zero: 1}\nsearch: {}\n");
  CHECK(run(Invocation{{"search", "s.yaml", "--time-limit", "10min", "--top", "1"}, folder.path()}).status == 0);
  CHECK(contains(run(Invocation{{"search", "s.yaml", "--time-limit", "10 apples"}, folder.path()}).err, "ns, us, ms"));
}

TEST_CASE("what is misspelt is refused, with the nearest name") {
  struct Case {
    std::vector<std::string> arguments;
    std::string found;
    std::string suggestion;
  };
  const std::vector<Case> cases = {
      {{"simulat", "x.yaml"}, "unknown command 'simulat'", "'simulate'"},
      {{"--hlep"}, "unknown command '--hlep'", "expected import, simulate, search"},
      {{"simulate", "x.yaml", "--detial", "passes"}, "unknown option '--detial'", "'--detail'"},
      {{"simulate", "x.yaml", "--unfold"}, "unknown option '--unfold'", "'--unfolded'"},
      {{"simulate", "x.yaml", "-q"}, "unknown option '-q'", "usage: mirfak simulate"},
      {{"simulate", "x.yaml", "--format", "jsno"}, "--format: expected text, json or csv, found 'jsno'", "'json'"},
      {{"simulate", "x.yaml", "--detail", "all"}, "--detail: expected passes or operators, found 'all'", ""},
      {{"simulate", "x.yaml", "--trace"}, "--trace", "usage: mirfak simulate"},
      {{"simulate", "x.yaml", "--unfolded=yes"}, "--unfolded", "usage: mirfak simulate"},
      {{"simulate", "x.yaml", "--format", "text", "--format", "json"}, "--format", "usage: mirfak simulate"},
      {{"frontier", "x.yaml", "y.yaml"}, "unexpected argument 'y.yaml'", "usage: mirfak frontier"},
      {{"simulate"}, "an argument is missing", "usage: mirfak simulate FILE..."},
      {{"list", "model"}, "list: expected models, gpus", "'models'"},
      {{"list"}, "an argument is missing", "usage: mirfak list models|"},
      {{"bench", "--threads", "some"}, "--threads", "usage: mirfak bench"},
      {{"bench", "--threads", "-1"}, "--threads: expected 0 or more, found -1", ""},
      {{""}, "unknown command ''", "expected import, simulate, search"},
  };
  for (const Case& wrong : cases) {
    CAPTURE(wrong.arguments);
    const Finished finished = run(wrong.arguments);
    CHECK(finished.status == 2);
    CHECK(finished.out.empty());
    CHECK(finished.err.starts_with("mirfak: error: "));
    CHECK_MESSAGE(contains(finished.err, wrong.found), finished.err);
    CHECK_MESSAGE(contains(finished.err, wrong.suggestion), finished.err);
  }
}

}  // namespace help_test
