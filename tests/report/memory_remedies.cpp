// Remedies of the report are tried as a reader would try them: with the keys as they stand in the text.

#include "report/memory_remedies.hpp"

#include "scenario/scenario.hpp"
#include "scenario/search_scenario.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

using namespace mirfak;

namespace {

Scenario remedied(const std::string& text, const std::vector<std::string>& overrides = {}) {
  Document document = Document::from_text(text, "test");
  for (const std::string& assignment : overrides) document.override_value(assignment);
  static const ScenarioSources sources(DataFolders{source_root() + "/models", source_root() + "/hw_profiles"});
  return parse_scenario(document, sources);
}

std::string with_text(std::string text, const std::string& what, const std::string& by) {
  const std::size_t at = text.find(what);
  REQUIRE(at != std::string::npos);
  text.replace(at, what.size(), by);
  return text;
}

// "strategy.tensor: 4, strategy.data: 2, strategy.zero: 1" as overrides.
std::vector<std::string> overrides_in(const std::string& text) {
  std::vector<std::string> out;
  const std::regex key(R"((strategy\.[a-z_]+): ([^ ,:]+))");
  for (std::sregex_iterator at(text.begin(), text.end(), key), end; at != end; ++at) {
    out.push_back((*at)[1].str() + "=" + (*at)[2].str());
  }
  return out;
}

// A line that begins with keys: what it promises, and what comes of it.
void check_line(const std::string& text, const std::string& line, double base_s) {
  CAPTURE(line);
  std::smatch found;
  REQUIRE(std::regex_search(line, found, std::regex(R"(: ([0-9.]+) of ([0-9.]+) GiB)")));
  const IterationResult result = simulate(remedied(text, overrides_in(line)).job).result;
  CHECK(std::abs(result.memory_peak_bytes / 1073741824.0 - std::stod(found[1])) < 0.051);
  CHECK(result.fits == (line.find(", fits") != std::string::npos));
  if (std::regex_search(line, found, std::regex(R"(([0-9]+) % (slower|faster))"))) {
    const double change = std::stod(found[1]) / 100 * (found[2] == "slower" ? 1 : -1);
    CHECK(std::abs(result.iteration_time_s / base_s - 1 - change) < 0.006);
  }
}

std::vector<std::string> remedy_lines(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> out;
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

// Every line of keys is tried.
std::string checked_remedies(const std::string& text) {
  const Simulation simulation = simulate(remedied(text).job);
  REQUIRE_FALSE(simulation.result.fits);
  std::string out = memory_remedies(simulation.job, simulation.result);
  for (const std::string& line : remedy_lines(out)) {
    if (line.starts_with("    ")) check_line(text, line, simulation.result.iteration_time_s);
  }
  return out;
}

// 7.5e9 parameters with Adam are 120 GB in mixed precision.
const std::string kLarge = R"(
model: {name: large, layers: 36, hidden: 4096, heads: 32, vocab: 32000, max_sequence: 2048}
cluster: {nodes: [{type: dgx-a100-40g, count: 1}]}
training: {global_batch: 16, sequence_length: 2048}
strategy: {micro_batch: 2}
)";

}  // namespace

TEST_CASE("a change that is said to be enough is, with the memory and the time that stand beside it") {
  const std::string remedies = checked_remedies(with_text(kLarge, "{micro_batch: 2}", "{micro_batch: 2, tensor: 4}"));
  CAPTURE(remedies);
  CHECK(remedies.find("enough:") != std::string::npos);
  CHECK(remedies.find(", fits") != std::string::npos);
}

TEST_CASE("where no change is enough, what they give is said, and what they come to together") {
  const std::string remedies = checked_remedies(kLarge);
  CAPTURE(remedies);
  if (remedies.starts_with("none")) CHECK(remedies.find("together these are:") != std::string::npos);
}

TEST_CASE("a change that gives nothing is not named") {
  // All of 64 tokens' activations are less than what the state lacks.
  const std::string text = with_text(with_text(kLarge, "sequence_length: 2048", "sequence_length: 64"),
                                     "{micro_batch: 2}", "{micro_batch: 1, recompute: full}");
  const std::string remedies = checked_remedies(text);
  CHECK(remedies.find("recompute") == std::string::npos);
  CHECK(remedies.find("micro_batch") == std::string::npos);
}

TEST_CASE("where nothing is enough on these GPUs, a number that is") {
  const std::string text = with_text(with_text(kLarge, "count: 1", "count: 1, gpus: 2"), "layers: 36", "layers: 72");
  const std::string remedies = checked_remedies(text);
  CAPTURE(remedies);
  std::smatch found;
  REQUIRE(std::regex_search(remedies, found,
                            std::regex(R"(([0-9]+) GPUs would do \(([0-9]+) times the nodes\), with (.*))")));
  const int times = std::stoi(found[2]);
  CHECK(std::stoi(found[1]) == 2 * times);
  std::vector<std::string> overrides = overrides_in(found[3]);
  overrides.push_back("cluster.nodes[0].count=" + std::to_string(times));
  CHECK(simulate(remedied(text, overrides).job).result.fits);
}

TEST_CASE("a search without a result is told what would do") {
  const std::string text = with_text(kLarge, "count: 1", "count: 1, gpus: 2");
  const SearchScenario search = parse_search(Document::from_text(text, "test"),
                                             DataFolders{source_root() + "/models", source_root() + "/hw_profiles"});
  const std::string advice = memory_advice(search);
  CAPTURE(advice);
  CHECK(advice.find(" GiB") != std::string::npos);
}
