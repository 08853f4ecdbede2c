// Figures of the error report that other pages repeat.

#include "support/scratch_folder.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <regex>
#include <string>
#include <vector>

namespace stated_figures_test {

using namespace mirfak;

namespace {

std::string page(const std::string& path) { return read_text_file(source_root() + "/" + path); }

// Returns the groups of the first match.
std::vector<std::string> found(const std::string& text, const std::string& pattern) {
  std::smatch match;
  REQUIRE(std::regex_search(text, match, std::regex(pattern)));
  return {match.begin(), match.end()};
}

}  // namespace

TEST_CASE("the page of goals repeats what the error report says of single sources") {
  const std::string report = page("validate/published/REPORT.md");
  const std::string goals = page("validate/README.md");
  const auto errors_of = [&](const std::string& table) {
    return found(report, "\\| " + table + R"( \| \d+ \| \d+ \| ([\d.]+) % \| ([\d.]+) % \|)");
  };
  const auto states = [&](const std::string& row) { return goals.find(row) != std::string::npos; };
  const std::vector<std::string> many = errors_of("vtrain-multi");
  CHECK(states(
      fmt::format("one node | 5 / 5 % | {} (median {}) / {} % |", many[1], many[2], errors_of("vtrain-single")[1])));
  CHECK(states(fmt::format("table 5 | 2.5 % | {} % |", errors_of("korthikanti-2022-seqpar-selective")[1])));
  const std::vector<std::string> mlperf = errors_of("mlperf-pretrain");
  CHECK(states(fmt::format("MLPerf GPT-3 and Llama | 5 % | {} % (median {}) |", mlperf[1], mlperf[2])));
}

TEST_CASE("the README and the page of goals repeat the means of the error report") {
  const std::string report = page("validate/published/REPORT.md");
  const std::string readme = page("README.md");
  const std::string goals = page("validate/README.md");

  const std::vector<std::string> errors =
      found(report, R"(mean of (\d+) tables\*\* \| \| \| ([\d.]+) % \| ([\d.]+) % \| ([\d.]+) / ([\d.]+) % \|)");
  CHECK(readme.find(fmt::format("the mean absolute error is {} %, the median {} % (means over {} sources); {} and {} % "
                                "without the rows that chose a constant",
                                errors[2], errors[3], errors[1], errors[4], errors[5])) != std::string::npos);
  CHECK(goals.find(fmt::format("mean over {} sources (rows that state everything) | 6 % | {} % |", errors[1],
                               errors[2])) != std::string::npos);
  CHECK(goals.find(fmt::format("median error, mean over sources | 4 % | {} % |", errors[3])) != std::string::npos);
  CHECK(goals.find(fmt::format("without the rows that chose one | 6 / 4 % | {} / {} % |", errors[4], errors[5])) !=
        std::string::npos);

  const std::vector<std::string> ranges =
      found(report, R"(mean of (\d+) tables\*\* \| \| ([\d.]+) % \| ([\d.]+) % \|\n)");
  const double covered = std::stod(ranges[2]);
  CHECK(readme.find(fmt::format("{:.0f} % of measured iterations lie in the range", covered)) != std::string::npos);
  CHECK(goals.find(fmt::format("{} % ({:.0f} %)", ranges[2], std::stod(ranges[3]))) != std::string::npos);
}

}  // namespace stated_figures_test
