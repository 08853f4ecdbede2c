// Commands in the documentation do as it says. In blocks marked `sh` every line that runs mirfak must succeed.
// In blocks marked `console`, lines that begin with "$ " are run, and what they print must be what follows, if anything
// does; a line "..." stands for any number of lines. A comment "# exit status N" at the end of a command names another
// status than 0. Standard error counts as output there, as it does on a terminal. A block marked `yaml` whose first
// line is "# NAME.yaml" is a file that the commands of its page find.

#include "program.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <span>
#include <sstream>

using namespace mirfak::test;
namespace fs = std::filesystem;

namespace {

struct Block {
  std::string where;  // file and line of its first line
  std::string page;
  std::string language;
  std::vector<std::string> lines;
};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

std::vector<Block> blocks_of(const fs::path& path) {
  std::vector<Block> out;
  bool inside = false;
  int number = 0;
  for (const std::string& line : lines_of(read_text(path))) {
    ++number;
    if (line.starts_with("```")) {
      inside = !inside;
      if (inside) out.push_back({path.string() + ":" + std::to_string(number + 1), path.string(), line.substr(3), {}});
    } else if (inside) {
      out.back().lines.push_back(line);
    }
  }
  return out;
}

std::vector<Block> documented_blocks() {
  const fs::path top = mirfak::source_root();
  std::vector<fs::path> files = {top / "README.md", top / "CONTRIBUTING.md"};
  for (const char* page : {"README.md", "GUIDE.md", "METHODS.md", "FORMATS.md"}) files.push_back(top / "sim" / page);
  for (const auto& entry : fs::recursive_directory_iterator(top / "sim")) {
    if (entry.is_directory()) files.push_back(entry.path() / "README.md");
  }
  for (const auto& entry : fs::directory_iterator(top / "scenarios" / "tutorials")) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<Block> out;
  for (const fs::path& file : files) {
    if (!fs::exists(file)) continue;
    for (Block& block : blocks_of(file)) out.push_back(std::move(block));
  }
  return out;
}

// The folder in which the commands of a block run: the files of its page lie there.
class Workplace {
 public:
  explicit Workplace(const std::vector<Block>& blocks, const Block& of) {
    for (const Block& block : blocks) {
      const bool file = block.page == of.page && block.language == "yaml" && !block.lines.empty() &&
                        block.lines.front().starts_with("# ") && block.lines.front().ends_with(".yaml");
      if (!file) continue;
      std::string text;
      for (const std::string& line : block.lines) text += line + "\n";
      folder_.write(block.lines.front().substr(2), text);
    }
  }
  const fs::path& path() const { return folder_.path(); }

 private:
  ScratchFolder folder_;
};

// The part of a line of shell that runs mirfak, which may be the last of several commands; "" when there is none.
std::string mirfak_command(std::string line) {
  const std::size_t last = line.rfind("&& ");
  if (last != std::string::npos) line.erase(0, last + 3);
  const std::string built = "build/release/mirfak ";
  if (line.starts_with(built)) line.replace(0, built.size(), "mirfak ");
  return line.starts_with("mirfak ") ? line : "";
}

int expected_status(const std::string& command) {
  const std::string mark = "# exit status ";
  const std::size_t at = command.find(mark);
  return at == std::string::npos ? 0 : std::stoi(command.substr(at + mark.size()));
}

// True if `lines` are as `pattern` describes, "..." standing for any number of lines.
bool matches(std::span<const std::string> pattern, std::span<const std::string> lines) {
  if (pattern.empty()) return lines.empty();
  if (pattern.front() == "...") {
    for (std::size_t skipped = 0; skipped <= lines.size(); ++skipped) {
      if (matches(pattern.subspan(1), lines.subspan(skipped))) return true;
    }
    return false;
  }
  return !lines.empty() && lines.front() == pattern.front() && matches(pattern.subspan(1), lines.subspan(1));
}

bool is_command(const std::string& line) { return line.starts_with("$ "); }

}  // namespace

TEST_CASE("every documented command line works") {
  int commands = 0;
  const std::vector<Block> blocks = documented_blocks();
  for (const Block& block : blocks) {
    if (block.language != "sh") continue;
    CAPTURE(block.where);
    const Workplace folder(blocks, block);
    for (const std::string& line : block.lines) {
      const std::string command = mirfak_command(line);
      if (command.empty()) continue;
      CAPTURE(command);
      ++commands;
      const Finished finished = run_shell(command, folder.path());
      CHECK_MESSAGE(finished.status == expected_status(command), finished.err);
    }
  }
  CHECK(commands > 0);
}

TEST_CASE("every documented transcript is what happens") {
  int transcripts = 0;
  const std::vector<Block> blocks = documented_blocks();
  for (const Block& block : blocks) {
    if (block.language != "console") continue;
    CAPTURE(block.where);
    const Workplace folder(blocks, block);
    for (auto at = block.lines.begin(); at != block.lines.end();) {
      REQUIRE_MESSAGE(is_command(*at), "expected a command after '$ '");
      const std::string command = mirfak_command(at->substr(2));
      const auto next = std::find_if(at + 1, block.lines.end(), is_command);
      const std::vector<std::string> expected(at + 1, next);
      at = next;
      if (command.empty()) continue;
      CAPTURE(command);
      ++transcripts;
      const Finished finished = run_shell("{ " + command + "\n} 2>&1", folder.path());
      CHECK(finished.status == expected_status(command));
      const bool as_documented = expected.empty() || matches(expected, lines_of(finished.out));
      CHECK_MESSAGE(as_documented, "it prints:\n" << finished.out);
    }
  }
  CHECK(transcripts > 0);
}

TEST_CASE("a pattern matches what it says") {
  const std::vector<std::string> lines = {"a", "b", "c"};
  const auto check = [&](std::vector<std::string> pattern) { return matches(pattern, lines); };
  CHECK(check({"a", "b", "c"}));
  CHECK(check({"a", "...", "c"}));
  CHECK(check({"..."}));
  CHECK(check({"a", "...", "b", "c"}));
  CHECK(!check({"a", "b"}));
  CHECK(!check({"...", "d"}));
  CHECK(!check({}));
}
