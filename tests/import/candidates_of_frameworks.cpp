// A strategy that is predicted without a word on the framework's program is a candidate of a search over this
// framework, and no other strategy is.

#include "launch/runnable_search.hpp"
#include "scenario/search_dimensions.hpp"
#include "scenario/search_scenario.hpp"
#include "strategy/rules.hpp"
#include "support/frameworks.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

using namespace mirfak;

namespace {

const std::filesystem::path& root() {
  static const std::filesystem::path at = source_root();
  return at;
}

SearchScenario search_over(const std::string& framework, const std::string& model) {
  const std::string text = fmt::format(
      "model: {}\ncluster: {{nodes: [{{type: hgx-h100, count: 2}}]}}\n"
      "training: {{global_batch: 64, sequence_length: 2048, precision: bf16, framework: {}}}\n"
      "search: {{space: {{schedule: [1f1b, interleaved-1f1b, gpipe, zb-h1, zb-v]}}}}\n",
      model, framework);
  return parse_search(Document::from_text(text, "drawn.yaml"), {root() / "models", root() / "hw_profiles"});
}

// Draws a strategy of the space, in which most parameters have their first value.
Strategy drawn(const StrategySpace& space, int gpus, std::mt19937& random) {
  Strategy out = space.others;
  for (const SearchDimension& dimension : search_dimensions()) {
    const std::vector<double> values = dimension.values(space);
    dimension.set(out, random() % 3 != 0 ? values.front() : values[random() % values.size()]);
  }
  out.data = std::max(1, gpus / (out.team() * out.pipeline));
  return out;
}

bool is_candidate(const SearchScenario& scenario, const Strategy& strategy) {
  const StrategySpace& space = scenario.search.spec.space;
  const Refusals& refusals = scenario.search.spec.refusals;
  const bool inside = std::ranges::all_of(search_dimensions(), [&](const SearchDimension& dimension) {
    const std::vector<double> values = dimension.values(space);
    return std::find(values.begin(), values.end(), dimension.of(strategy)) != values.end();
  });
  return inside && !(refusals.of_branch && refusals.of_branch(strategy)) &&
         !(refusals.of_pipeline && refusals.of_pipeline(strategy)) &&
         !(refusals.of_strategy && refusals.of_strategy(strategy));
}

// Numbers of drawn strategies that keep the rules.
struct Drawn {
  int candidates = 0;
  int others = 0;
};

void compare(const std::string& framework, const std::string& model, std::mt19937& random, Drawn& tally) {
  constexpr int kDraws = 300;
  CAPTURE(framework);
  CAPTURE(model);
  SearchScenario scenario = search_over(framework, model);
  const StrategySpace all = scenario.search.spec.space;
  keep_to_framework(scenario, root() / "hw_profiles");
  Job job = scenario.job;
  for (int i = 0; i < kDraws; ++i) {
    job.strategy = drawn(all, job.cluster.gpus(), random);
    if (first_violation({job.model, job.training, job.framework, job.strategy, job.cluster.gpus()})) continue;
    const std::vector<std::string> notes = notes_on_program(job, scenario.document, root() / "hw_profiles");
    CAPTURE(fmt::format("{}", fmt::join(notes, "; ")));
    const bool candidate = is_candidate(scenario, job.strategy);
    CHECK(candidate == notes.empty());
    ++(candidate ? tally.candidates : tally.others);
  }
}

}  // namespace

TEST_CASE("candidates of a search are the strategies that are predicted without a note on the program") {
  std::mt19937 random(4);
  Drawn tally;
  for (const std::string& framework : test::framework_names()) {
    if (test::framework_named(framework).program.empty()) continue;
    for (const char* model : {"llama3-8b", "mixtral-8x7b"}) compare(framework, model, random, tally);
  }
  CHECK(tally.candidates > 300);
  CHECK(tally.others > 300);
}
