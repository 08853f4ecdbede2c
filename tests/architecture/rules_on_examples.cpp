#include "source_rules.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <string>
#include <vector>

using namespace mirfak::architecture;

namespace {

std::vector<std::string> includes(const std::string& path, const std::string& text) {
  return include_violations({path, text});
}

// Judges a text with "What" for each '@', so that this file does not break the rule.
std::vector<std::string> comments(const std::string& path, std::string text) {
  for (std::size_t at = text.find('@'); at != std::string::npos; at = text.find('@')) text.replace(at, 1, "What");
  return comment_violations({path, text});
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

TEST_CASE("a comment that begins with \"What\" or the like is named with its line") {
  const auto found = comments("sim/a.cpp", "int a;\n  // @ a is.\nint b;\n");
  REQUIRE(found.size() == 1);
  CHECK(found[0].starts_with("sim/a.cpp:2: a comment begins with \"What\": "));
  CHECK(comments("a.hpp", "int a;  // @ a is\n/// @ b is\n").size() == 2);
  CHECK(comments("a.cu", "// The a.\n//\n// @ b is.\n").size() == 1);
  CHECK(comments("a.py", "def a():\n    \"\"\"@ a is.\"\"\"\n    b = 1  # @ b is\n").size() == 2);
  CHECK(comments("a/CMakeLists.txt", "# @ a is\nset(a)\n").size() == 1);
  CHECK(comments("a.yaml", "a: 1\n# @ b is\nb: {c: 2}\n").size() == 1);
  CHECK(comments(".ci/run", "#!/bin/sh\n\n# @ it runs\n").size() == 1);
  CHECK(comments("sim/faces/python/a.cpp", "add(\"a\", &A::a, \"@ a is.\");\nadd(\"b\", \"The b @ is.\");\n").size() ==
        1);
  for (const char* word : {"What", "Of", "Whether", "How", "Where", "Which", "That"}) {
    CHECK(comment_violations({"a.cpp", std::string("// ") + word + " a\n"}).size() == 1);
  }
}

TEST_CASE("lines that continue a comment, other words and other files begin as they like") {
  CHECK(comments("a.cpp", "// The place\n// @ a has.\n").empty());
  CHECK(comments("a.cpp", "int a;  // the first\n        // @ a is\n").empty());
  CHECK(comments("a.cpp", "// @ever a is.\n// Returns a.\n").empty());
  CHECK(comments("a.cpp", "const char* a = \"http://@\";\n").empty());
  CHECK(comments("a.py", "a = \"#@\"\nb = 1  # the first\n").empty());
  CHECK(comments("a.md", "# @ it does\n").empty());
  CHECK(comments("tests/a", "# @ it does\n").empty());
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
