// The two production traces of ../shared/straggler-traces: steps and answers as published, and a second, independent
// replay of them.

#include "replay/derived_graph.hpp"
#include "replay/straggler_analysis.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

namespace shared_traces_test {

using namespace mirfak;

namespace {

constexpr double kTolerance = 1e-6;
const std::filesystem::path kFolder = source_root() + "/../shared/straggler-traces";

bool skipped() {
  if (std::filesystem::exists(kFolder)) return false;
  MESSAGE("skipped: no ../shared/straggler-traces");
  return true;
}

CsvTable table(const std::string& name) { return CsvTable::from_file(kFolder / name); }

nlohmann::json json(const std::string& name) { return nlohmann::json::parse(std::ifstream(kFolder / name)); }

Replay published(const std::string& name) {
  return {read_measured_trace(kFolder / ("trace-" + name + ".csv.gz")),
          read_step_graph(table("deps-" + name + ".csv"), table("groups-" + name + ".csv")),
          read_ideal_durations(table("ideal-durations-" + name + ".csv"))};
}

void check_close(double found, double expected) { CHECK(found == doctest::Approx(expected).epsilon(kTolerance)); }

void check_steps(const std::string& name, const StragglerAnalysis& found) {
  const CsvTable expected = table("steps-" + name + ".csv");
  REQUIRE(found.steps.size() == expected.rows());
  for (std::size_t i = 0; i < found.steps.size(); ++i) {
    const auto seconds = [&](const char* column) { return expected.number(i, expected.require(column), 0, 1e6); };
    CHECK(found.steps[i].step == expected.integer(i, expected.require("step"), 0, 1'000'000));
    check_close(found.steps[i].measured_s, seconds("measured_s"));
    check_close(found.steps[i].replayed_s, seconds("replayed_without_launch_gaps_s"));
    check_close(found.steps[i].without_stragglers_s, seconds("ideal_s"));
  }
}

void check_slowdowns(const std::vector<Blame>& found, const nlohmann::json& expected) {
  CHECK(found.size() == expected.size());
  for (const Blame& blame : found) {
    const std::string key = !blame.of.type.empty() ? blame.of.type
                            : blame.of.stage       ? std::to_string(*blame.of.stage)
                                                   : std::to_string(*blame.of.data);
    INFO(key);
    REQUIRE(expected.contains(key));
    check_close(blame.slowdown, expected[key].get<double>());
  }
}

void check_shares(const Blame& found, const StragglerAnalysis& analysis, const nlohmann::json& expected) {
  check_close(found.without_s, expected["trem"].get<double>());
  check_close(found.only_s, expected["tadd"].get<double>());
  const double removed = *removed_share(found, analysis.mean_replayed_s, analysis.mean_without_stragglers_s);
  const double added = *added_share(found, analysis.mean_replayed_s, analysis.mean_without_stragglers_s);
  // Differences of times that agree to 1e-6.
  const double gap = analysis.mean_replayed_s / (analysis.mean_replayed_s - analysis.mean_without_stragglers_s);
  CHECK(std::abs(removed - expected["rem"].get<double>()) < kTolerance * gap);
  CHECK(std::abs(added - expected["add"].get<double>()) < kTolerance * gap);
}

}  // namespace

TEST_CASE("production traces replay as published, step by step, and so do all answers") {
  if (skipped()) return;
  const std::map<std::string, std::pair<double, double>> means = {{"AR", {46.336373, 23.484700}},
                                                                  {"ST", {2.172697, 1.843296}}};
  for (const auto& [name_of_trace, mean] : means) {
    const std::string name = name_of_trace;
    INFO(name);
    const StragglerAnalysis found = analyse_stragglers(published(name), std::nullopt);
    check_close(found.mean_replayed_s, mean.first);
    check_close(found.mean_without_stragglers_s, mean.second);
    check_steps(name, found);
    const nlohmann::json result = json("result-" + name + ".json");
    check_close(found.slowdown, result["blocking_slowdown"].get<double>());
    check_close(found.launch_slowdown, result["launch_slowdown"].get<double>());
    check_slowdowns(found.categories, result["blocking_decompose_by_optype"]);
    check_slowdowns(found.data_ranks, result["blocking_decompose_by_dp_rank"]);
    check_slowdowns(found.stages, result["blocking_decompose_by_stage"]);
    check_shares(found.last_stage, found, json("ms-" + name + ".json"));
    check_shares(found.slowest_workers, found, json("mw-" + name + ".json"));
  }
}

TEST_CASE("graph and durations that follow from a trace alone give the same steps") {
  if (skipped()) return;
  for (const char* name : {"AR", "ST"}) {
    INFO(name);
    const Replay expected = published(name);
    MeasuredTrace trace = expected.trace();
    StepGraph graph = derive_step_graph(trace);
    const Replay derived(std::move(trace), std::move(graph));
    CHECK(derived.times_s({}) == expected.times_s({}));
    REQUIRE(derived.ideal().size() == expected.ideal().size());
    for (std::size_t i = 0; i < derived.ideal().size(); ++i) {
      CHECK(derived.ideal()[i].seconds == doctest::Approx(expected.ideal()[i].seconds).epsilon(1e-4));
    }
    check_close(derived.mean_time_s({{OperationSet{}}, {}, {}}), expected.mean_time_s({{OperationSet{}}, {}, {}}));
  }
}

}  // namespace shared_traces_test
