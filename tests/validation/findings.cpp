#include "validation/findings.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

using namespace mirfak;

namespace {

Findings findings_of(const std::string& text) {
  const std::filesystem::path file = std::filesystem::temp_directory_path() / "mirfak_findings_test.yaml";
  std::ofstream(file) << text;
  return load_findings(file);
}

}  // namespace

TEST_CASE("the smallest group that holds a row gives its reason") {
  const Findings found = findings_of(
      "tried: a lot\n"
      "reasons:\n"
      "  - {table: runs, reason: all}\n"
      "  - {table: runs, lines: [2, 9], reason: some}\n"
      "  - {table: runs, line: 5, reason: one}\n");
  CHECK(found.tried == "a lot");
  CHECK(found.reason_of("runs", {"runs.csv", 5, 1}) == "one");
  CHECK(found.reason_of("runs", {"runs.csv", 6, 1}) == "some");
  CHECK(found.reason_of("runs", {"runs.csv", 10, 1}) == "all");
  CHECK(found.reason_of("others", {"others.csv", 5, 1}).empty());
}

TEST_CASE("findings are read strictly") {
  CHECK_THROWS_WITH_AS(findings_of("reasons: [{table: runs}]\n"), doctest::Contains("reason"), Error);
  CHECK_THROWS_WITH_AS(findings_of("reasons: [{table: runs, lines: [9, 2], reason: x}]\n"), doctest::Contains(":1:"),
                       Error);
}
