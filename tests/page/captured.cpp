// The page of a captured step: all figures with reasons, and the timeline of each captured rank.

#include "capture/capture_figures.hpp"
#include "capture/capture_report.hpp"
#include "page/captured_timeline.hpp"
#include "page/page_data.hpp"
#include "page/pass_timeline.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

using namespace mirfak;
using Json = nlohmann::ordered_json;

namespace captured_page_test {

namespace {

const CaptureSources& sources() {
  static const CaptureSources of(ScenarioSources({source_root() + "/models", source_root() + "/hw_profiles"}));
  return of;
}

CapturedScenario scenario_of(const std::string& capture) {
  const std::string text = "capture: " + source_root() + "/scenarios/capture/" + capture +
                           ".capture\ncluster: {nodes: [{type: hgx-h100, count: 1}], pue: 1.2}\n";
  return read_captured_scenario(Document::from_text(text, "job.yaml"), sources());
}

// A scenario whose capture has been changed.
template <class Change>
Json timeline_of(const std::string& name, Change change) {
  CapturedScenario scenario = scenario_of(name);
  auto capture = std::make_shared<Capture>(*scenario.capture);
  change(*capture);
  scenario.capture = std::move(capture);
  return captured_timeline(simulate(scenario, sources()));
}

std::size_t boxes_of(const Json& timeline, std::size_t lane) {
  std::size_t count = 0;
  for (const Json& row : timeline["rows"]) count += lane < row["lanes"].size() ? row["lanes"][lane].size() : 0;
  return count;
}

}  // namespace

TEST_CASE("a page of a capture has a reason for every single figure, and sections that reasons name") {
  const CapturedScenario scenario = scenario_of("fsdp");
  const CapturePricing pricing = pricing_of(scenario, sources());
  const CaptureSimulation simulation = simulate(scenario, sources());
  const Json result = capture_json(*simulation.capture, pricing, simulation.result, 0.25);
  const Json data = capture_page_data(scenario, pricing, simulation, result, "text");
  CHECK(data["kind"] == "capture");
  CHECK(data["result"] == result);
  CHECK(data["scenario"] == scenario.resolved);
  const Json& reasons = data["explanation"]["figures"];
  for (const auto& entry : result.items()) {
    if (entry.value().is_structured() || entry.value().is_null()) continue;
    const std::string& key = entry.key();
    CAPTURE(key);
    REQUIRE(reasons.contains(key));
    CHECK_FALSE(reasons[key]["meaning"].get<std::string>().empty());
  }
  CHECK(reasons.contains("facility_energy_j"));
  for (const auto& [key, value] : result["activities"].items()) CHECK(reasons.contains("activities." + key));
  const Json& sections = data["explanation"]["sections"];
  for (const auto& entry : reasons.items()) {
    CAPTURE(entry.key());
    for (const Json& title : entry.value()["see"]) {
      const std::string begin = title.get<std::string>();
      CHECK(std::any_of(sections.begin(), sections.end(),
                        [&](const Json& of) { return of["title"].get<std::string>().starts_with(begin); }));
    }
  }
}

TEST_CASE("the timeline of a capture has a row for each rank, with what its GPU runs and sends") {
  const Json timeline = timeline_of("pipeline", [](Capture&) {});
  REQUIRE(timeline["rows"].size() == 2);
  CHECK(timeline["left_out"].empty());
  CHECK(timeline["rows"][1]["label"] == "rank 1");
  for (const Json& row : timeline["rows"]) {
    std::int64_t before = 0;
    for (const Json& box : row["lanes"][0]) {
      CHECK(box[1].get<std::int64_t>() >= before);
      before = box[1].get<std::int64_t>() + box[2].get<std::int64_t>();
      CHECK(before <= timeline["end"].get<std::int64_t>() + 1);
    }
  }
  const auto has_name = [&](const std::string& text) {
    return std::any_of(timeline["names"].begin(), timeline["names"].end(),
                       [&](const Json& name) { return name["text"] == text; });
  };
  CHECK(has_name("Linear, backward"));
  CHECK(has_name("send"));
  CHECK(boxes_of(timeline, 1) == 4);  // a message forward and one backward, on both ranks
}

TEST_CASE("a timeline draws modules as deep as its boxes allow, and says what it leaves out") {
  // Kernels alternate between two modules of one block: too many boxes of them, and one box of the block.
  const auto alternate = [](std::size_t kernels) {
    return [kernels](Capture& capture) {
      capture.modules = {"", "Net.block.one", "Net.block.two"};
      for (CapturedRank& rank : capture.ranks) {
        CaptureEvent kernel = *std::find_if(rank.events.begin(), rank.events.end(),
                                            [](const CaptureEvent& of) { return of.kind == CaptureEventKind::launch; });
        rank.events.clear();
        for (std::size_t i = 0; i < kernels; ++i) {
          kernel.module = 1 + static_cast<std::uint32_t>(i % 2);
          rank.events.push_back(kernel);
        }
      }
    };
  };
  const Json few = timeline_of("attention", alternate(100));
  CHECK(few["left_out"].empty());
  CHECK(boxes_of(few, 0) == 100);
  const Json many = timeline_of("attention", alternate(kMostTimelineBoxes + 1));
  CHECK(boxes_of(many, 0) < 10);
  REQUIRE_FALSE(many["left_out"].empty());
  CHECK(many["left_out"][0] == "modules are drawn 2 deep in the program, of 3");
  CHECK(many["names"][0]["text"].get<std::string>().starts_with("Net.block, "));
}

}  // namespace captured_page_test
