#include "base/section.hpp"
#include "base/units.hpp"
#include "report/explanation.hpp"
#include "report/result_json.hpp"
#include "report/source_list.hpp"
#include "report/summary_text.hpp"
#include "support/example.hpp"
#include "trace/timeline_text.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <sstream>

using namespace mirfak;

namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

void check_clean(const std::string& text) {
  CHECK(text.back() == '\n');
  for (const char* bad : {"nan", "NaN", "inf ", "-0.0"}) CHECK_FALSE(has(text, bad));
  CHECK_FALSE(has(text, " \n"));
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> out;
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

}  // namespace

TEST_CASE("a table's columns line up") {
  Table table("|>");
  table.add({"a", "1.5"});
  table.add({"long", "10.25"});
  table.add({"alone"});
  CHECK(table.text() == "  a        1.5\n  long   10.25\n  alone\n");
}

TEST_CASE("a source is listed once and keeps its number") {
  SourceList sources;
  CHECK(sources.cite("a datasheet") == "[1]");
  CHECK(sources.cite("a paper") == "[2]");
  CHECK(sources.cite("a datasheet") == "[1]");
  CHECK(sources.cite("").empty());
  CHECK(has(sources.section().body(), "[2]  a paper\n"));
}

TEST_CASE("formulas with the same constants share a letter") {
  FormulaList formulas;
  const Explanation one{"a + b", "1 + 2", {{"a", "1", "x"}}};
  Explanation same = one;
  same.numbers = "3 + 4";
  Explanation other = one;
  other.inputs[0].value = "2";
  CHECK(formulas.cite(one) == "A");
  CHECK(formulas.cite(same) == "A");
  CHECK(formulas.cite(other) == "B");
  CHECK(formulas.cite({}).empty());
  for (int i = 0; i < 24; ++i) formulas.cite({std::to_string(i), "", {}});
  CHECK(formulas.cite({"the 27th", "", {}}) == "AA");
}

TEST_CASE("the summary says the main figures") {
  const Example e = example();
  const std::string text = summary_text(e.scenario, e.simulation);
  check_clean(text);
  CHECK(has(text, format_seconds(e.simulation.result.iteration_time_s)));
  CHECK(has(text, format_percent(e.simulation.result.mfu)));
  CHECK(has(text, "Training on 1.00 G tokens"));
  CHECK(has(text, "fits"));
  CHECK_FALSE(has(text, "DOES NOT FIT"));
}

TEST_CASE("what follows from the iteration's time has its range") {
  const Example e = example();
  const IterationResult& r = e.simulation.result;
  REQUIRE(r.iteration_time_low_s > 0);
  const std::string text = summary_text(e.scenario, e.simulation);
  const double slowest = r.iteration_time_high_s / r.iteration_time_s;
  const double fastest = r.iteration_time_low_s / r.iteration_time_s;
  CHECK(has(text, " to " + format_count(r.tokens_per_s / fastest) + "; "));
  CHECK(has(text, format_number(r.tflops_per_gpu / slowest) + " to " + format_number(r.tflops_per_gpu / fastest)));
  CHECK(has(text, " to " + format_seconds(slowest * r.training_time_s) + "; "));
  CHECK(has(text, format_usd(fastest * r.cost_usd) + " to " + format_usd(slowest * r.cost_usd) + "; "));
}

TEST_CASE("without a price the summary says what has none, and without tokens it has no training") {
  const Example e = example({"training.tokens=null", "cluster.price=azure/spot"});
  REQUIRE_FALSE(e.simulation.result.priced);
  const std::string text = summary_text(e.scenario, e.simulation);
  check_clean(text);
  CHECK(has(text, "no price for " + e.simulation.job.cluster.groups()[0].hardware.gpu.name));
  CHECK(has(text, " at azure/spot"));
  CHECK_FALSE(has(text, "$"));
  CHECK_FALSE(has(text, "Training on"));
}

TEST_CASE("what does not fit is said with its parts, the largest first") {
  const Example e = example({"strategy.micro_batch=16", "training.global_batch=256"});
  REQUIRE_FALSE(e.simulation.result.fits);
  const std::string text = summary_text(e.scenario, e.simulation);
  check_clean(text);
  const StageMemory& memory =
      e.simulation.result.stages[static_cast<std::size_t>(e.simulation.result.fullest_stage)].memory;
  CHECK(has(text, "DOES NOT FIT: stage " + std::to_string(e.simulation.result.fullest_stage) + " needs"));
  CHECK(memory.peak.activations > memory.peak.optimizer);
  CHECK(has(text, "GiB: activations"));
}

TEST_CASE("documents on ranks of their own have rows, in every report, and the header is that of the job") {
  const Example e = example({"strategy.pipeline=1", "strategy.virtual_pipeline=1", "strategy.schedule=1f1b",
                             "strategy.micro_batch=1", "strategy.context_tokens=1024",
                             "training.framework=megatron-core", "training.document_lengths={256: 8, 2048: 1}"});
  const std::string text = summary_text(e.scenario, e.simulation);
  check_clean(text);
  CHECK(has(text, "cp by document, 1024 tokens a rank"));
  CHECK(has(text, "Documents on as many of 8 data and context ranks as hold them"));
  CHECK(has(text_of(explanation(e.scenario, e.simulation)), "Documents on as many of 8"));
  const auto json = result_json(e.simulation, 0)["documents"];
  REQUIRE(json["shapes"].size() >= 2);
  double share = 0;
  for (const auto& shape : json["shapes"]) share += shape["share"].get<double>();
  CHECK(share == doctest::Approx(1));
  CHECK(json["busiest_s"].get<double>() + json["once_s"].get<double>() ==
        doctest::Approx(e.simulation.result.iteration_time_s));
}

TEST_CASE("classes of replicas have rows of their own that name their nodes, in every report") {
  const std::vector<std::string> mixed = {"cluster.nodes=[{type: dgx-a100-80g, count: 1}, {type: hgx-h100, count: 1}]",
                                          "strategy.pipeline=1", "strategy.virtual_pipeline=1",
                                          "strategy.schedule=1f1b",
                                          "strategy.replica_microbatches=[1, 1, 1, 1, 3, 3, 3, 3]"};
  const Example e = example(mixed);
  const std::string text = summary_text(e.scenario, e.simulation);
  check_clean(text);
  CHECK(has(text, "microbatches of 1: 1 on replicas 0-3, 3 on replicas 4-7"));
  CHECK(has(text, "\n  0      0-3       dgx-a100-80g             1 "));
  CHECK(has(text, "\n  0      4-7       hgx-h100                 3 "));
  const std::string why = text_of(explanation(e.scenario, e.simulation));
  check_clean(why);
  CHECK(has(why, "Passes on stage 0 of replicas 0-3: NVIDIA A100"));
  CHECK(has(why, "Passes on stage 0 of replicas 4-7: NVIDIA H100"));
  const std::string drawing = timeline_text(e.simulation.program, e.simulation.timeline);
  CHECK(has(drawing, "\n  stage   0 replica   4 "));
  const auto json = result_json(e.simulation, 0);
  REQUIRE(json["stages"].size() == 2);
  CHECK(json["stages"][1]["stage"] == 0);
  CHECK(json["stages"][1]["node"] == "hgx-h100");
  CHECK(json["stages"][1]["replicas"] == std::vector<int>{4, 5, 6, 7});
  CHECK(json["stages"][1]["microbatches"] == 3);
  CHECK_FALSE(has(summary_text(example().scenario, example().simulation), "replicas"));
}

TEST_CASE("of many stages some have no row, but never the fullest") {
  Example e = example();
  IterationResult& result = e.simulation.result;
  const StageResult stage = result.stages.front();
  result.stages.assign(64, stage);
  for (std::size_t i = 0; i < 64; ++i) result.stages[i].memory.peak.activations = static_cast<double>(i) * kGiB / 4;
  std::vector<StagePlan>& plans = e.simulation.plans;
  while (plans.size() < 64) {
    plans.push_back(plans.front());
    plans.back().stage = static_cast<int>(plans.size()) - 1;
  }
  result.fullest_stage = 41;
  result.fullest_plan = 41;
  std::size_t rows = 0;
  bool fullest = false;
  for (const std::string& line : lines_of(summary_text(e.scenario, e.simulation))) {
    rows += has(line, "  79.3  ");
    fullest = fullest || line.starts_with("  41 ");
  }
  CHECK(fullest);
  CHECK(rows >= 16);
  CHECK(rows <= 18);
}

TEST_CASE("the explanation names every kernel and collective, and cites only sources that it lists") {
  for (const char* recompute : {"none", "selective", "full"}) {
    const Example e = example({std::string("strategy.recompute=") + recompute, "strategy.sequence_parallel=true"});
    const std::string text = text_of(explanation(e.scenario, e.simulation));
    check_clean(text);
    const Simulation& s = e.simulation;
    for (const PartitionedBlock& block : s.blocks.all) {
      for (const auto* steps : {&block.forward, &block.recompute, &block.backward}) {
        for (const BlockStep& step : *steps) {
          const bool kernel = step.kind == BlockStep::Kind::kernel;
          CHECK(has(text, kernel ? block.graph.op(step.op).name : block.graph.tensor(step.tensor).name));
        }
      }
    }
    CHECK(has(text, s.job.framework.source));
    CHECK(has(text, s.job.framework.host.source));
    for (const HabitNote& note : s.job.framework.notes) {
      CHECK(has(text, note.habit));
      CHECK(has(text, note.source));
      for (const std::string& measurements : note.judged_on) CHECK(has(text, measurements));
    }
    for (const std::string& line : lines_of(e.scenario.resolved)) CHECK(has(text, line));
    int sources = 0;
    while (has(text, "\n   [" + std::to_string(sources + 1) + "]  ") ||
           has(text, "\n  [" + std::to_string(sources + 1) + "]  ")) {
      ++sources;
    }
    CHECK(sources >= 10);
    CHECK_FALSE(has(text, "[" + std::to_string(sources + 1) + "]"));
  }
}

TEST_CASE("a table is composed once: people read rounded figures, programs all digits, each in its columns") {
  Table table("step:name | >takes:time_s | >share | -:tasks | >error:error");
  table.add({"first", in_seconds(1.23456), in_percent(0.75), 12, in_percent(std::optional<double>())});
  table.add({"tiny, too", in_seconds(2e-9), in_percent(0.25), 3, Cell("+5.0 %", 0.05)}, Readers::programs);
  table.add({"all", in_seconds(2.0), "", 15, ""}, Readers::people);
  CHECK(table.text() == "  step    takes   share  error\n  first  1.23 s  75.0 %      -\n  all    2.00 s\n");
  CHECK(table.json().dump() == R"([{"name":"first","time_s":1.23456,"tasks":12,"error":null},)"
                               R"({"name":"tiny, too","time_s":2e-09,"tasks":3,"error":0.05}])");
  CHECK(table.csv() == "name,time_s,tasks,error\nfirst,1.23456,12,\n\"tiny, too\",2e-09,3,0.05\n");
  CHECK(table.markdown() ==
        "| step | takes | share | error |\n|---|---|---|---|\n| first | 1.23 s | 75.0 % | - |\n| all | 2.00 s | | |\n");
  table.show("share", false);
  CHECK(table.text(1) == "  step    takes  error\n  first  1.23 s      -\n");
}

TEST_CASE("sections are printed with an empty line between them, and shown one by one without empty ends") {
  Table table("|>");
  table.add({"a", 1});
  const std::vector<Section> sections = {{"One", {"\n  words\n", table}}, {"Two", {}}};
  CHECK(text_of(sections) == "One\n\n  words\n  a  1\n\nTwo\n");
  CHECK(sections_json(sections).dump() == R"([{"title":"One","text":"  words\n  a  1"},{"title":"Two","text":""}])");
}
