// The page of the language lists the operators that there are, each as the compiler's table has it.

#include "block/operators.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <iterator>
#include <string>

using namespace mirfak;

TEST_CASE("the README has every operator, as the table says it") {
  std::ifstream in(source_root() + "/sim/description/block/README.md");
  const std::string page(std::istreambuf_iterator<char>(in), {});
  REQUIRE(!page.empty());
  for (const block::OperatorRow& row : block::operators()) {
    const std::string line =
        "| `" + std::string(row.use) + "` | " + std::string(row.meaning) + " | " + std::string(row.kept) + " |";
    CHECK_MESSAGE(page.find(line) != std::string::npos, line);
  }
}
