// Options that only a list of options knows: what an entry says is all that reading them needs.

#include "import/option_reader.hpp"
#include "launch_files.hpp"
#include "support/scratch_folder.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

namespace option_reader_test {

using namespace mirfak;

namespace {

constexpr const char* kList = R"(
project: a/program
release: v1
what: its options
options:
  ranks:
    {part: all, key: strategy.tensor, form: count, range: [1, 8], unsaid: 1, agrees: true, words: {1: {leave: "one rank"}},
     also: {strategy.sequence_parallel: {take: "true", because: "always", only: [{key: strategy.tensor, above: 1}]}}}
  sharding: {part: all, takes: [all, some], key: strategy.zero, words: {all: "3", some: "2"}, unsaid: some}
  bits: {part: all, form: flag, unsaid: false, words: {"true": {hold: "fewer bits"}, "false": {leave: "off"}}}
  optimizer: {part: all, key: training.optimizer, any_case: true, words: {AdamW: adam}, otherwise: {doubt: "not known"}}
)";

class Program {
 public:
  explicit Program(const std::string& settings) : draft_(settings_of(Document::from_text(settings, "f.yaml").root())) {
    std::filesystem::create_directories(folder_.path() / "launch" / "options");
    std::ofstream(folder_.path() / "launch" / "options" / "own.yaml") << kList;
  }
  ImportDraft& read(const std::string& around = "") {
    const OptionList list(folder_.path(), "own");
    OptionReader reader(draft_, list, "the program");
    reader.stand_within(around);
    reader.read_part("all");
    return draft_;
  }
  ImportDraft& draft() { return draft_; }

 private:
  ScratchFolder folder_;
  ImportDraft draft_;
};

std::string error_of(const std::string& settings) {
  try {
    Program(settings).read();
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::input);
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("an entry of a list decides its key, and the keys that follow from it") {
  Program program("{ranks: 4, sharding: all, optimizer: ADAMW}");
  const ImportDraft& draft = program.read();
  CHECK(said(draft, "strategy.tensor") == "4");
  CHECK(said(draft, "strategy.sequence_parallel") == "true");
  CHECK(said(draft, "strategy.zero") == "3");
  CHECK(said(draft, "training.optimizer") == "adam");
  CHECK(draft.lines().front().key == "strategy.tensor: 4, strategy.sequence_parallel: true");
}

TEST_CASE("an option that no file states has the program's own word, and is assumed") {
  Program program("{ranks: 1}");
  const ImportDraft& draft = program.read();
  CHECK(said(draft, "strategy.tensor") == "");
  CHECK(said(draft, "strategy.sequence_parallel") == "");
  CHECK(draft.lines().front().reason == "one rank");
  CHECK(draft.origins().at("strategy.zero") == "assumed: the program's default: sharding: some");
  CHECK(said(draft, "training.optimizer") == "");
  CHECK(draft.obstacles().empty());
}

TEST_CASE("words and numbers that an entry does not take are refused at their place") {
  CHECK(error_of("{ranks: 9}") == "f.yaml:1:9: ranks: expected a whole number from 1 to 8, found '9'");
  CHECK(error_of("{sharding: none}") == "f.yaml:1:12: sharding: expected all or some, found 'none'");
  CHECK(error_of("{bits: few}") == "f.yaml:1:8: bits: expected true or false, found 'few'");
}

TEST_CASE("an option makes the training another one, or is left out") {
  Program program("{bits: true, optimizer: Other}");
  const ImportDraft& draft = program.read();
  REQUIRE(draft.obstacles().size() == 1);
  CHECK(draft.obstacles().front().reason == "bits: fewer bits");
  for (const ImportLine& line : {draft.lines()[0], draft.lines()[1]}) CHECK(line.left_out);
}

TEST_CASE("an option agrees with the program around it, or is refused") {
  Program same("{ranks: 2}");
  same.draft().assume("strategy.tensor", "2", "said before");
  CHECK(same.read("the launcher").lines().front().reason == "as the launcher says; always");
  Program other("{ranks: 4}");
  other.draft().assume("strategy.tensor", "2", "said before");
  CHECK_THROWS_WITH_AS(other.read("the launcher"),
                       "f.yaml:1:9: ranks: expected auto, or what the launcher says (strategy.tensor: 2), found '4'",
                       Error);
}

}  // namespace option_reader_test
