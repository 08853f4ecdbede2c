#include "import/import_draft.hpp"

#include <doctest/doctest.h>

using namespace mirfak;

namespace {

Setting option(const std::string& name, const std::string& value, int line) {
  const Location where{"launch.sh", line, 1};
  return {name, scalar_value(value, where), where, name + " " + value};
}

}  // namespace

TEST_CASE("every setting ends with a verdict, and what nobody asked for is unknown") {
  ImportDraft draft(
      {option("--tp", "2", 1), option("--lr", "3e-4", 2), option("--tp", "4", 3), option("--new", "1", 4)});
  const Setting* tensor = draft.find("--tp");
  REQUIRE(tensor != nullptr);
  draft.take(*tensor, "strategy.tensor", tensor->value);
  draft.leave(*draft.find("--lr"), "the learning rate");
  draft.assume("strategy.micro_batch", "1", "the program's default");
  CHECK(draft.find("--pp") == nullptr);
  REQUIRE(draft.open().size() == 1);
  const std::vector<ImportLine> lines = draft.lines();
  REQUIRE(lines.size() == 5);
  CHECK(lines[0].verdict == Verdict::superseded);
  CHECK(lines[0].reason == "said again at launch.sh:3:1");
  CHECK(lines[1].verdict == Verdict::no_effect);
  CHECK(lines[2].verdict == Verdict::taken);
  CHECK(lines[2].key == "strategy.tensor: 4");
  CHECK(lines[3].verdict == Verdict::unknown);
  CHECK(lines[4].verdict == Verdict::assumed);
  CHECK(draft.scenario().find("strategy")->find("tensor")->where.line == 3);
}

TEST_CASE("what is known and no prediction has is told from what is not known") {
  ImportDraft draft({option("--known", "1", 1), option("--new", "1", 2)});
  draft.doubt(*draft.find("--known"), "no prediction has it");
  draft.suggest(*draft.find("--new"), "did you mean '--news'?");
  const std::vector<ImportLine> lines = draft.lines();
  CHECK(lines[0].left_out);
  CHECK_FALSE(lines[1].left_out);
  for (const ImportLine& line : lines) CHECK(line.verdict == Verdict::unknown);
}
