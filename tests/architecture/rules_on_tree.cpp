// The rules of source_rules.hpp, applied to the tree this test was built from.

#include "source_rules.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <vector>

using namespace mirfak::architecture;
namespace fs = std::filesystem;

namespace {

constexpr int kLongestSource = 700;

const fs::path kTop = mirfak::source_root();

// Every file under a folder of the tree, sorted; none when the folder does not exist.
std::vector<std::string> paths_under(const std::string& folder) {
  std::vector<std::string> out;
  if (!fs::exists(kTop / folder)) return out;
  for (const auto& entry : fs::recursive_directory_iterator(kTop / folder)) {
    if (entry.is_regular_file()) out.push_back(entry.path().lexically_relative(kTop).generic_string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<SourceFile> files_under(const std::string& folder, const std::set<std::string>& extensions) {
  std::vector<SourceFile> out;
  for (const std::string& path : paths_under(folder)) {
    if (!extensions.contains(fs::path(path).extension().string())) continue;
    std::ifstream in(kTop / path, std::ios::binary);
    out.push_back({path, std::string(std::istreambuf_iterator<char>(in), {})});
  }
  return out;
}

std::vector<SourceFile> sources_of_sim() { return files_under("sim", {".cpp", ".hpp"}); }

// The files and folders at the top of the tree that git keeps; none when git cannot say.
std::set<std::string> tracked_at_the_top() {
  std::string paths;
  FILE* listing = popen(fmt::format("git -C '{}' ls-files", kTop.string()).c_str(), "r");
  REQUIRE(listing != nullptr);
  for (int c = std::fgetc(listing); c != EOF; c = std::fgetc(listing)) paths.push_back(static_cast<char>(c));
  REQUIRE(pclose(listing) == 0);

  std::set<std::string> out;
  std::istringstream lines(paths);
  for (std::string path; std::getline(lines, path);) out.insert(path.substr(0, path.find('/')));
  return out;
}

void check_none(const std::vector<std::string>& violations) {
  CHECK_MESSAGE(violations.empty(), fmt::format("{}", fmt::join(violations, "\n")));
}

}  // namespace

TEST_CASE("sources include only their own room and those before it") {
  const auto sources = sources_of_sim();
  REQUIRE(!sources.empty());
  for (const SourceFile& file : sources) check_none(include_violations(file));
}

TEST_CASE("no source is longer than one subject needs") {
  for (const SourceFile& file : sources_of_sim()) check_none(length_violations(file, kLongestSource));
}

TEST_CASE("nothing is marked as unfinished") {
  for (const char* folder : {"sim", "tests", "validate"}) {
    for (const SourceFile& file : files_under(folder, {".cpp", ".hpp", ".cu", ".md", ".txt", ".py"})) {
      check_none(unfinished_violations(file));
    }
  }
}

TEST_CASE("comments begin with their noun or verb") {
  std::size_t files = 0;
  for (const char* folder : {"sim", "tests", "validate", "models", "hw_profiles", "scenarios", ".ci"}) {
    for (const SourceFile& file :
         files_under(folder, {".cpp", ".hpp", ".cu", ".js", ".py", ".sh", ".cmake", ".txt", ".yaml", ""})) {
      check_none(comment_violations(file));
      ++files;
    }
  }
  CHECK(files > 1000);
}

TEST_CASE("every folder of sim/ is a room with a README.md") { check_none(room_violations(paths_under("sim"))); }

// Build folders and the like are nobody's business, so only what git would keep counts.
TEST_CASE("the top of the tree holds only what is agreed") {
  if (!fs::exists(kTop / ".git")) {
    MESSAGE("skipped: not a git checkout");
    return;
  }
  const std::set<std::string> entries = tracked_at_the_top();
  REQUIRE(entries.contains("sim"));
  check_none(top_level_violations({entries.begin(), entries.end()}));
}
