#include "source_rules.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace mirfak::architecture;

namespace {

std::vector<std::string> includes(const std::string& path, const std::string& text) {
  return include_violations({path, text});
}

}  // namespace

TEST_CASE("a room includes itself and the rooms before it") {
  CHECK(
      includes("sim/lowering/cost/kernel.cpp", "#include \"cost/kernel.hpp\"\n#include \"base/error.hpp\"\n").empty());
  CHECK(includes("sim/faces/cli/main.cpp", "#include \"report/text.hpp\"\n#include <vector>\n").empty());
}

TEST_CASE("an include of a later room is named with its line") {
  const auto found =
      includes("sim/lowering/cost/kernel.cpp", "#include <vector>\n\n  # include \"engine/timeline.hpp\"\n");
  REQUIRE(found.size() == 1);
  CHECK(found[0] == "sim/lowering/cost/kernel.cpp:3: \"engine/timeline.hpp\" is of a room that comes after cost/");
}

TEST_CASE("an include names its room, and the room exists") {
  CHECK(includes("sim/lowering/cost/kernel.cpp", "#include \"kernel.hpp\"\n").size() == 1);
  CHECK(includes("sim/lowering/cost/kernel.cpp", "#include \"../base/error.hpp\"\n").size() == 1);
  CHECK(includes("sim/lowering/cost/kernel.cpp", "#include \"tests/help.hpp\"\n").size() == 1);
  CHECK(includes("sim/kernel.cpp", "").size() == 1);
  CHECK(includes("sim/extra/kernel.cpp", "").size() == 1);
  CHECK(includes("sim/cost/kernel.cpp", "").size() == 1);        // in no layer
  CHECK(includes("sim/faces/cost/kernel.cpp", "").size() == 1);  // in another
}

TEST_CASE("what is not an include is left alone") {
  CHECK(includes("sim/base/text.cpp", "// #include \"cli/main.hpp\"\n#define include \"cli/main.hpp\"\n").empty());
}

TEST_CASE("a library that belongs to one room is included only there") {
  CHECK(includes("sim/base/yaml.cpp", "#include <yaml.h>\n").empty());
  CHECK(includes("sim/files/trace/trace.cpp", "#include <hdf5.h>\n").empty());
  CHECK(includes("sim/files/scenario/load.cpp", "#include <yaml.h>\n").size() == 1);
  CHECK(includes("sim/faces/cli/main.cpp", "#include <hdf5.h>\n#include <H5Cpp.h>\n").size() == 2);
}

TEST_CASE("length counts lines") {
  CHECK(length_violations({"sim/base/a.cpp", "1\n2\n3\n"}, 3).empty());
  CHECK(length_violations({"sim/base/a.cpp", "1\n2\n3\n4\n"}, 3).size() == 1);
}

TEST_CASE("unfinished work is found as a word") {
  const std::string word = std::string("TO") + "DO";
  CHECK(unfinished_violations({"a.cpp", "int a;\n// " + word + ": later\n"}).size() == 1);
  CHECK(unfinished_violations({"a.cpp", word}).size() == 1);
  CHECK(unfinished_violations({"a.cpp", "int " + word + "S; int MY" + word + ";\n"}).empty());
}

TEST_CASE("the top of the tree holds only what is agreed") {
  CHECK(top_level_violations({"sim", "hw_profiles", "README.md", ".clang-format"}).empty());
  CHECK(top_level_violations({"src", "notes.txt", "tests"}).size() == 2);
}

TEST_CASE("every folder of a layer is a room, and says what it is") {
  CHECK(room_violations({"sim/README.md", "sim/base/README.md", "sim/base/error.hpp"}).empty());
  CHECK(room_violations({"sim/base/error.hpp"}) == std::vector<std::string>{"sim/base: has no README.md"});
  CHECK(room_violations({"sim/faces/cli/README.md", "sim/faces/cli/main.cpp"}).empty());
  CHECK(room_violations({"sim/utils/README.md"}) == std::vector<std::string>{"sim/utils: is not in the list of rooms"});
}
