// Runs some seven hundred command lines that mirfak refuses, over all commands. Each ends with the status for such
// mistakes, prints no result, leaves no file behind, and says what refusals.yaml has below it.

#include "program.hpp"

#include "base/document.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string_view>

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

// The first line of the message to each command line, and the page of all messages.
struct Refusals {
  std::map<std::string, std::string> said;
  std::string page = "# What mirfak says to what it refuses\n";
};

constexpr std::string_view kError = "mirfak: error: ";

void refuse(const ScratchFolder& folder, const std::string& line, Refusals& refusals) {
  CAPTURE(line);
  const std::vector<std::string> before = folder.names();
  std::vector<std::string> words = words_of(line);
  REQUIRE(words.front() == "mirfak");
  words.erase(words.begin());
  const Finished finished = run(Invocation{words, folder.path(), {}, Output::captured});
  CHECK(finished.signal == 0);
  CHECK_MESSAGE((finished.status == 2 || finished.status == 3), finished.err);
  CHECK_MESSAGE(finished.out.empty(), finished.out);
  REQUIRE_MESSAGE(finished.err.starts_with(kError), finished.err);
  CHECK(folder.names() == before);
  const std::string text = with_names(with_names(finished.err, folder.path().string(), "."), source_root(), "mirfak");
  refusals.page += fmt::format("\n```text\n$ {}\n{}exit status {}\n```\n", line, text, finished.status);
  const bool is_new = refusals.said.emplace(line, text.substr(kError.size(), text.find('\n') - kError.size())).second;
  CHECK_MESSAGE(is_new, "twice in refusals.yaml");
}

std::string without_blanks_before(const std::string& line) {
  return line.substr(std::min(line.find_first_not_of(' '), line.size()));
}

// refusals.yaml with what is said now below each command line.
std::string rewritten(const std::string& text, const Refusals& refusals) {
  std::istringstream lines(text);
  std::string out;
  for (std::string line; std::getline(lines, line);) {
    const std::string words = without_blanks_before(line);
    if (words.starts_with("> ")) continue;
    out += line + "\n";
    const auto found = refusals.said.find(words);
    if (found == refusals.said.end()) continue;
    out += fmt::format("{}> {}\n", line.substr(0, line.size() - words.size()), found->second);
  }
  return out;
}

}  // namespace

TEST_CASE("what is refused, and in which words") {
  const std::string list = kFolder + "refusals.yaml";
  const Document document = Document::from_file(list);
  Mapping root{Node(document)};
  const ScratchFolder folder;
  const Node files = root.require("files");
  for (const Value::Field& file : files.value().fields) {
    const std::filesystem::path path = folder.path() / file.key;
    std::filesystem::create_directories(path.parent_path());
    folder.write(file.key, file.value.scalar);
  }
  Refusals refusals;
  std::map<std::string, std::string> expected;
  const Node commands = root.require("commands");
  for (const Value::Field& group : commands.value().fields) {
    refusals.page += fmt::format("\n## {}\n", group.key);
    std::istringstream lines(group.value.scalar);
    std::string asked;
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("> ")) {
        expected[asked] = line.substr(2);
        continue;
      }
      refuse(folder, asked = line, refusals);
    }
  }
  root.finish();
  CHECK(refusals.said.size() >= 600);
  std::ofstream(program().parent_path() / "refusals.md") << refusals.page;
  if (std::getenv("MIRFAK_WRITE_PAGES") != nullptr) {
    const std::string before = read_text(list);
    std::ofstream(list) << rewritten(before, refusals);
    return;
  }
  for (const auto& refusal : refusals.said) {
    const std::string& line = refusal.first;
    INFO(line, ": MIRFAK_WRITE_PAGES=1 writes refusals.yaml anew, and the difference is to be read");
    CHECK(refusal.second == expected[line]);
  }
}
