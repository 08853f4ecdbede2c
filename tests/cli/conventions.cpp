#include "program.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace mirfak::test;

namespace {

const std::filesystem::path kNowhere;

// What bash offers for the last of these words.
std::string offered(const std::string& words) {
  const std::string line = "bash -c 'source <(mirfak completion bash); COMP_WORDS=(" + words +
                           "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _mirfak; echo \"${COMPREPLY[*]}\"'";
  const Finished finished = run_shell(line, kNowhere);
  CHECK(finished.status == 0);
  CHECK(finished.err.empty());
  return finished.out;
}

}  // namespace

TEST_CASE("bash completes commands, options, values and keys") {
  CHECK(offered("mirfak sim") == "simulate\n");
  CHECK(offered("mirfak simulate --sampl") == "--samples --sampling\n");
  CHECK(offered("mirfak simulate --sampling a") == "antithetic\n");
  CHECK(offered("mirfak simulate x.yaml --set strategy.tens") == "strategy.tensor=\n");
  CHECK(offered("mirfak list mod") == "models\n");
  CHECK(offered("mirfak completion z") == "zsh\n");
  CHECK(offered("mirfak simulate --samples 1") == "\n");  // a number
}

TEST_CASE("every shell has a script that names every command") {
  const std::string all = run({"--help"}).out;
  for (const std::string shell : {"bash", "zsh", "fish"}) {
    const Finished finished = run({"completion", shell});
    CHECK(finished.status == 0);
    for (const std::string command : {"simulate", "search", "topology", "man"}) {
      CHECK(finished.out.find(command) != std::string::npos);
    }
    const ScratchFolder folder;
    const std::string checks = "if command -v " + shell + " > /dev/null; then " + shell + " -n script; fi";
    CHECK(run_shell("mirfak completion " + shell + " > script && " + checks, folder.path()).status == 0);
  }
  CHECK(run({"completion", "csh"}).status == 2);
}

TEST_CASE("every command has a manual page that groff formats without a warning") {
  const std::string line =
      "set -e; for page in mirfak $(mirfak --help | sed -n \"s/^  \\([a-z]*\\)  *[a-z].*/\\1/p\"); do mirfak man $page "
      "> p; "
      "if command -v groff > /dev/null; then groff -man -ww -z p; fi; grep -q \"^.TH\" p; echo $page; done; rm p";
  const ScratchFolder folder;
  const Finished finished = run_shell(line, folder.path());
  CHECK(finished.status == 0);
  CHECK(finished.err.empty());
  CHECK(finished.out.find("mirfak\n") == 0);
  CHECK(finished.out.find("simulate\n") != std::string::npos);
  CHECK(finished.out.find("bench\n") != std::string::npos);
  const std::string page = run({"man", "simulate"}).out;
  CHECK(page.find("\\-\\-set") != std::string::npos);
  CHECK(page.find("MIRFAK_DATA") != std::string::npos);
}

TEST_CASE("doctor says what works, and fails where something does not") {
  const Finished well = run({"doctor"});
  CHECK(well.status == 0);
  for (const std::string what : {"models", "hardware", "frameworks", "a simulation", "a trace (HDF5)"}) {
    CHECK(well.out.find("\n  " + what) != std::string::npos);
  }
  CHECK(well.out.find("fails") == std::string::npos);
  const ScratchFolder folder;
  const Finished broken = run({{"doctor", "--data", folder.path().string() + "/none"}, folder.path()});
  CHECK(broken.status == 1);
  CHECK(broken.err.find("data folder: ") != std::string::npos);
  CHECK(broken.out.find("processors") != std::string::npos);
}
