// Runs inputs of kinds that strangers brought and that once were read wrong, and looks for what has to be said
// (answers.yaml).

#include "program.hpp"

#include "base/document.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace mirfak;
using namespace mirfak::test;

namespace {

// The figures that an iteration begins with.
std::string iteration_in(const std::string& out) {
  const std::size_t begin = out.find("\nIteration\n");
  return begin == std::string::npos ? "" : out.substr(begin, out.find("\n\n", begin + 1) - begin);
}

}  // namespace

TEST_CASE("answers: what strangers brought is read as what it is") {
  const Document document = Document::from_file(source_root() + "/tests/cli/answers.yaml");
  Mapping all{Node(document)};
  const ScratchFolder folder;
  const Node files = all.require("files");
  for (const Value::Field& file : files.value().fields) folder.write(file.key, file.value.scalar);
  std::size_t lines = 0;
  for (const Node& node : all.require("answers").as_items()) {
    Mapping entry(node);
    const std::string line = entry.require("run").as_string();
    CAPTURE(line);
    const Finished found = run_shell("mirfak " + line, folder.path());
    CHECK(found.status == 0);
    CHECK(found.err.empty());
    for (const Node& words : entry.require("says").as_items()) {
      CAPTURE(words.as_string());
      CHECK(found.out.find(words.as_string()) != std::string::npos);
    }
    if (const auto unsaid = entry.find("not")) {
      for (const Node& words : unsaid->as_items()) {
        CAPTURE(words.as_string());
        CHECK(found.out.find(words.as_string()) == std::string::npos);
      }
    }
    if (const auto same = entry.find("as")) {
      const std::string iteration = iteration_in(found.out);
      CHECK(!iteration.empty());
      CHECK(iteration_in(run_shell("mirfak " + same->as_string(), folder.path()).out) == iteration);
    }
    entry.finish();
    ++lines;
  }
  CHECK(lines >= 17);
}
