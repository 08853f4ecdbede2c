// What mirfak says to some three hundred inputs that it refuses, over all commands: it ends with the status for such
// mistakes, prints no result, leaves no file behind, and says what the page refusals.md has, which people read as a
// page.

#include "program.hpp"

#include "base/document.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

using namespace mirfak;
using namespace mirfak::test;

namespace {

const std::string kFolder = source_root() + "/tests/cli/";

// The words of a line of shell: single quotes keep blanks together.
std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> words;
  bool inside = false;
  char quote = 0;
  for (const char c : line) {
    if (quote == 0 && c == ' ') {
      inside = false;
      continue;
    }
    if (!inside) words.emplace_back();
    inside = true;
    if (c == quote) {
      quote = 0;
    } else if (quote == 0 && c == '\'') {
      quote = c;
    } else {
      words.back() += c;
    }
  }
  return words;
}

std::string with_names(std::string text, const std::string& path, const std::string& name) {
  for (std::size_t at = text.find(path); at != std::string::npos; at = text.find(path, at + name.size())) {
    text.replace(at, path.size(), name);
  }
  return text;
}

struct Page {
  std::string text =
      "# What mirfak says to what it refuses\n\n"
      "Written by `tests/cli/refusals.cpp` from the lines of `refusals.yaml`; with `MIRFAK_WRITE_PAGES=1` in the "
      "environment the "
      "test writes it anew.\n";
  std::size_t lines = 0;
};

void refuse(const ScratchFolder& folder, const std::string& line, Page& page) {
  CAPTURE(line);
  const std::vector<std::string> before = folder.names();
  std::vector<std::string> words = words_of(line);
  REQUIRE(words.front() == "mirfak");
  words.erase(words.begin());
  const Finished finished = run(Invocation{words, folder.path(), {}, Output::captured});
  CHECK(finished.signal == 0);
  CHECK_MESSAGE((finished.status == 2 || finished.status == 3), finished.err);
  CHECK_MESSAGE(finished.out.empty(), finished.out);
  CHECK(finished.err.starts_with("mirfak: error: "));
  CHECK(folder.names() == before);
  const std::string said = with_names(with_names(finished.err, folder.path().string(), "."), source_root(), "mirfak");
  page.text += fmt::format("\n```text\n$ {}\n{}exit status {}\n```\n", line, said, finished.status);
  ++page.lines;
}

}  // namespace

TEST_CASE("what is refused, and in which words") {
  const Document document = Document::from_file(kFolder + "refusals.yaml");
  Mapping root{Node(document)};
  const ScratchFolder folder;
  const Node files = root.require("files");
  for (const Value::Field& file : files.value().fields) {
    const std::filesystem::path path = folder.path() / file.key;
    std::filesystem::create_directories(path.parent_path());
    folder.write(file.key, file.value.scalar);
  }
  Page page;
  const Node commands = root.require("commands");
  for (const Value::Field& group : commands.value().fields) {
    page.text += fmt::format("\n## {}\n", group.key);
    std::istringstream lines(group.value.scalar);
    for (std::string line; std::getline(lines, line);) refuse(folder, line, page);
  }
  root.finish();
  CHECK(page.lines >= 300);
  if (std::getenv("MIRFAK_WRITE_PAGES") != nullptr) std::ofstream(kFolder + "refusals.md") << page.text;
  std::istringstream now(page.text);
  std::istringstream before(read_text(kFolder + "refusals.md"));
  std::string asked;
  for (std::string line, expected; std::getline(now, line);) {
    std::getline(before, expected);
    if (line.starts_with("$ ")) asked = line;
    INFO(asked, ": the page is another; MIRFAK_WRITE_PAGES=1 writes it anew, and the difference is to be read");
    REQUIRE(line == expected);
  }
}
