// Data that pages show of an iteration: all of its figures, each with its reason, and its passes.

#include "page/page_data.hpp"
#include "page/pass_timeline.hpp"

#include "base/units.hpp"
#include "report/result_json.hpp"
#include "support/example.hpp"
#include "support/source_root.hpp"
#include "trace/pass_spans.hpp"
#include "trace/stream_index.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>

using namespace mirfak;
using Json = nlohmann::ordered_json;

namespace {

Json page_data_of(const Example& e) { return simulation_page_data(e.scenario, e.simulation, {}, 0.25); }

std::size_t boxes_of(const Json& timeline) {
  std::size_t count = 0;
  for (const Json& row : timeline["rows"]) {
    for (const Json& lane : row["lanes"]) count += lane.size();
  }
  return count;
}

}  // namespace

TEST_CASE("a page has the result as JSON has it, and a reason for every single figure") {
  const Example e = example();
  const Json data = page_data_of(e);
  CHECK(data["kind"] == "simulate");
  CHECK(data["result"] == result_json(e.simulation, 0.25));
  CHECK(data["scenario"] == e.scenario.resolved);
  const Json& reasons = data["explanation"]["figures"];
  for (const auto& entry : data["result"].items()) {
    const std::string& key = entry.key();
    if (entry.value().is_structured() || entry.value().is_null() || key == "fullest_stage") continue;
    CAPTURE(key);
    REQUIRE(reasons.contains(key));
    CHECK_FALSE(reasons[key]["meaning"].get<std::string>().empty());
  }
  for (const auto& [key, value] : data["result"]["activities"].items()) CHECK(reasons.contains("activities." + key));
}

TEST_CASE("reasons name sections that are there") {
  const Json explanation = page_data_of(example())["explanation"];
  const auto is_there = [&](const std::string& begin) {
    return std::any_of(explanation["sections"].begin(), explanation["sections"].end(),
                       [&](const Json& section) { return section["title"].get<std::string>().starts_with(begin); });
  };
  for (const auto& entry : explanation["figures"].items()) {
    CAPTURE(entry.key());
    for (const Json& title : entry.value()["see"]) {
      CHECK_MESSAGE(is_there(title.get<std::string>()), title.get<std::string>());
    }
  }
  CHECK(is_there("Formulas"));
  CHECK(is_there("Sources"));
}

TEST_CASE("the sum behind the exposed communication is that figure") {
  const Example e = example();
  double sum = 0;
  for (std::size_t i = 0; i < kActivities; ++i) {
    const auto activity = static_cast<Activity>(i);
    if (activity >= Activity::tensor_communication && activity <= Activity::pipeline_communication) {
      sum += e.simulation.result.activity_s[i];
    }
  }
  CHECK(sum == doctest::Approx(e.simulation.result.exposed_communication_s));
}

TEST_CASE("a timeline has all passes of a GPU of each stage, inside the iteration") {
  const Example e = example();
  const Json timeline = pass_timeline(e.simulation);
  REQUIRE(timeline["rows"].size() == 4);
  CHECK(timeline["left_out"].empty());
  CHECK(timeline["end"] == e.simulation.timeline.makespan / 1000);
  const StreamIndex index(e.simulation.program);
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    const Json& passes = timeline["rows"][rank]["lanes"][0];
    CHECK(passes.size() ==
          pass_spans(e.simulation.program, e.simulation.timeline, index.compute_tasks_of(rank)).size());
    for (const Json& pass : passes) {
      CHECK(pass[0] < timeline["names"].size());
      CHECK(pass[1].get<std::int64_t>() + pass[2].get<std::int64_t>() <= timeline["end"].get<std::int64_t>() + 1);
    }
  }
  CHECK(timeline["rows"][0]["lanes"].size() == 2);
}

TEST_CASE("a timeline of very many passes is bounded and says what it leaves out") {
  const Example e = example({"training.global_batch=8192"});
  const Json timeline = pass_timeline(e.simulation);
  CHECK(boxes_of(timeline) <= kMostTimelineBoxes);
  REQUIRE_FALSE(timeline["left_out"].empty());
  CHECK(timeline["left_out"][0].get<std::string>().find("passes of a stage are drawn") != std::string::npos);
}

TEST_CASE(
    "a page of a training has a reason for every single figure, and parts of lost time say what they are made of") {
  const Example e =
      example({"operations={iterations: 100000, failures: {rate_per_node_day: 0.2}, restart_s: 600, "
               "detection_s: 60, checkpoint: {interval_s: 3600, write_s: 20}}"});
  const TrainingPrediction prediction = predict_training(e.scenario.job, operations_of(e.scenario), 32, 1);
  const TrainReport report{e.scenario, prediction};
  const Json data = training_page_data(report, 0.25);
  CHECK(data["result"] == train_json(report, 0.25));
  const Json& reasons = data["explanation"]["figures"];
  for (const auto& entry : data["result"].items()) {
    if (entry.value().is_structured() || entry.value().is_null()) continue;
    const std::string& key = entry.key();
    CAPTURE(key);
    REQUIRE(reasons.contains(key));
    CHECK_FALSE(reasons[key]["meaning"].get<std::string>().empty());
  }
  for (const auto& entry : data["result"]["lost"].items()) {
    const std::string& key = entry.key();
    CAPTURE(key);
    REQUIRE(reasons.contains("lost." + key));
    if (entry.value() > 0) CHECK(reasons["lost." + key].contains("formula"));
  }
  const std::string restarts = reasons["lost.restart_s"]["formula"].get<std::string>();
  CHECK(restarts.starts_with(format_number(prediction.estimate.restarts) + " restarts x "));
  CHECK(data["explanation"]["sections"].size() > 5);
}

TEST_CASE("what stands behind the figures of a search's strategies is what simulate says of each") {
  const std::string text =
      "model: gpt3-1.3b\ncluster: {nodes: [{type: dgx-a100-80g, count: 1}]}\ntraining: {global_batch: 64}\n";
  const DataFolders folders{source_root() + "/models", source_root() + "/hw_profiles"};
  const ScenarioSources sources(folders);
  const SearchScenario search = parse_search(Document::from_text(text, "s.yaml"), folders);
  SearchOutcome outcome = search_and_simulate(search.job, search.search.spec, 1);
  REQUIRE(outcome.strategies.size() >= 2);
  outcome.strategies.erase(outcome.strategies.begin() + 2, outcome.strategies.end());
  const Json explanations = strategy_explanations(search, outcome.strategies, sources);
  REQUIRE(explanations.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    const IterationResult& found = outcome.strategies[i].iteration;
    const std::string formula = explanations[i]["figures"]["iteration_time_s"]["formula"].get<std::string>();
    CHECK(formula.ends_with("= " + format_seconds(found.iteration_time_s)));
    CHECK(explanations[i]["figures"]["memory_peak_bytes"]["formula"].get<std::string>().ends_with(
        "= " + format_bytes(found.memory_peak_bytes)));
  }
}
