#include "comparison/option_results.hpp"

#include "base/error.hpp"
#include "comparison/comparison_report.hpp"
#include "page/page_data.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <sstream>

using namespace mirfak;

namespace {

// A small job whose searches take milliseconds.
const std::string kScenario = R"(
scenario:
  model: gpt3-1.3b
  training: {global_batch: 64, sequence_length: 2048, tokens: 1e10}
  strategy: {micro_batch: 1}
  search: {space: {tensor: [1, 2], pipeline: [1, 2], virtual_pipeline: 1, recompute: [none, full], uneven_layers: 0}}
)";

const std::string kOptions = R"(
options:
  - {name: rented, cluster: {nodes: [{type: dgx-a100-80g, count: 1}], price: 2, pue: 1.2, carbon_g_per_kwh: 400}, node_counts: [1, 2, 4]}
  - {name: owned, cluster: {nodes: [{type: dgx-1-v100-32g, count: 2}], price: 0.5}, set: {training.precision: fp16}}
  - {name: tiny, cluster: {nodes: [{type: rtx-2080-8, count: 1}], price: 0.1}, set: {training.precision: fp16, search.headroom: 0.97}}
)";

DataFolders folders() {
  const std::filesystem::path source = source_root();
  return {source / "models", source / "hw_profiles"};
}

ComparisonFile file_of(const std::string& rest) {
  return parse_comparison(Document::from_text(kScenario + kOptions + rest, "options.yaml"));
}

Comparison compared(const std::string& rest) { return compare_options(file_of(rest), folders()); }

std::vector<const OptionResult*> running(const Comparison& comparison) {
  std::vector<const OptionResult*> out;
  for (const OptionResult& row : comparison.rows) {
    if (row.runs()) out.push_back(&row);
  }
  return out;
}

std::string message_of(const std::string& text) {
  try {
    parse_comparison(Document::from_text(text, "options.yaml"));
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::input);
    CHECK(error.where().line > 0);
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("every choice is a row: those that run in order, those that do not with the reason") {
  const Comparison all = compared("order: cost\n");
  REQUIRE(all.rows.size() == 5);
  const auto rows = running(all);
  REQUIRE(rows.size() == 4);
  for (std::size_t i = 0; i < rows.size(); ++i) CHECK(all.rows[i].runs());
  for (std::size_t i = 1; i < rows.size(); ++i) CHECK(rows[i - 1]->cost_usd->value <= rows[i]->cost_usd->value);
  CHECK(all.rows.back().option == "tiny");
  CHECK(reason_text(all.rows.back()).find("fits in memory") != std::string::npos);
}

TEST_CASE("a row is what a search and a simulation of it say") {
  const Comparison all = compared("");
  for (const OptionResult* row : running(all)) {
    const IterationResult& iteration = row->best()->iteration;
    const double iterations = 1e10 / (64 * 2048);
    CHECK(row->finish_s.value == doctest::Approx(iterations * iteration.iteration_time_s));
    CHECK(row->finish_s.low == doctest::Approx(iterations * iteration.iteration_time_low_s));
    CHECK(row->finish_s.high == doctest::Approx(iterations * iteration.iteration_time_high_s));
    CHECK(row->cost_usd->value == doctest::Approx(iteration.training_cost_usd));
    CHECK(row->energy_j.value == doctest::Approx(iterations * iteration.energy_j));
    CHECK(row->gpus == 8 * row->nodes);
    CHECK(row->memory_headroom >= 0.05);  // what a search leaves free
    const bool rented = row->option == "rented";
    CHECK(row->facility_j.has_value() == rented);
    CHECK(row->co2_kg.has_value() == rented);
    if (rented) CHECK(row->co2_kg->value == doctest::Approx(row->facility_j->value / 3.6e6 * 0.4));
    CHECK(row->best()->found.job.strategy.data > 0);
  }
}

TEST_CASE("sizing keeps of each option what the question asks for") {
  const Comparison all = compared("order: gpus\n");
  double slowest_rented = 0;
  double fastest_rented = 1e30;
  for (const OptionResult* row : running(all)) {
    if (row->option != "rented") continue;
    slowest_rented = std::max(slowest_rented, row->finish_s.value);
    fastest_rented = std::min(fastest_rented, row->finish_s.value);
  }
  REQUIRE(fastest_rented < 0.5 * slowest_rented);
  const double days = 0.6 * slowest_rented / 86400;  // not on one node
  const Comparison fewest = compared(fmt::format("sizing: {{want: fewest-gpus, deadline_days: {}}}\n", days));
  CHECK(fewest.rows.size() == 3);
  const auto rented = std::find_if(fewest.rows.begin(), fewest.rows.end(),
                                   [](const OptionResult& row) { return row.option == "rented"; });
  REQUIRE(rented != fewest.rows.end());
  CHECK(rented->in_time);
  CHECK(rented->nodes == 2);
  // No option is in time: the fastest of each says by how much.
  const Comparison late = compared("sizing: {want: least-money, deadline_days: 1e-6}\n");
  for (const OptionResult& row : late.rows) CHECK_FALSE((row.runs() && row.in_time));
  const auto nearest =
      std::find_if(late.rows.begin(), late.rows.end(), [](const OptionResult& row) { return row.option == "rented"; });
  CHECK(nearest->finish_s.value == doctest::Approx(fastest_rented));
}

TEST_CASE("the latest start and the duration together end by the date") {
  const Comparison all = compared("sizing: {want: latest-start, finish_by: 2028-02-29}\n");
  using namespace std::chrono;
  const sys_days end = sys_days(2028y / February / 29) + days(1);
  for (const OptionResult* row : running(all)) {
    const double available = static_cast<double>((end - *row->start).count()) * 86400;
    CHECK(available >= row->finish_s.value);
    CHECK(available - 86400 < row->finish_s.value);
    CHECK(*row->sure_start <= *row->start);
    CHECK(static_cast<double>((end - *row->sure_start).count()) * 86400 >= row->finish_s.high);
  }
}

TEST_CASE("rows tie with the first where ranges overlap, and nowhere else") {
  const Comparison all = compared("order: time\n");
  const auto rows = running(all);
  CHECK_FALSE(rows.front()->ties_with_first);
  for (std::size_t i = 1; i < rows.size(); ++i) {
    CHECK(rows[i]->ties_with_first == (rows[i]->finish_s.low <= rows.front()->finish_s.high));
  }
}

TEST_CASE("failures make trainings longer, by the closed form of the search for the time to finish") {
  const std::string operations =
      "  operations: {failures: {rate_per_node_day: 2}, restart_s: 600, checkpoint: {write_s: 20}}\n";
  const Comparison plain = compared("");
  const Comparison failing = compare_options(
      parse_comparison(Document::from_text(kScenario + operations + kOptions, "options.yaml")), folders());
  CHECK_FALSE(plain.with_operations);
  CHECK(failing.with_operations);
  CHECK(failing.rows.front().runs());
  for (const OptionResult* row : running(failing)) {
    const double iterations = 1e10 / (64 * 2048);
    CHECK(row->finish_s.value > iterations * row->best()->iteration.iteration_time_s);
    CHECK(row->finish_s.low < row->finish_s.value);
    CHECK(row->finish_s.value < row->finish_s.high);
  }
}

TEST_CASE("what a file of options says wrongly is refused at its place") {
  const auto with = [](const std::string& rest) { return message_of(kScenario + kOptions + rest); };
  CHECK(with("sizing: {want: fewest-gpus}\n").find("deadline_days") != std::string::npos);
  CHECK(with("sizing: {want: latest-start, deadline_days: 3}\n").find("finish_by") != std::string::npos);
  CHECK(with("sizing: {want: latest-start, finish_by: 2027-02-30}\n").find("expected a date") != std::string::npos);
  CHECK(with("sizing: {want: all, start: 2027-01-01}\n").find("finish_by") != std::string::npos);
  CHECK(with("sizing: {want: all, start: 2027-01-09, finish_by: 2027-01-01}\n").find("after") != std::string::npos);
  CHECK(with("ordr: cost\n").find("did you mean 'order'") != std::string::npos);
  CHECK(message_of(kScenario + "options: []\n").find("empty list") != std::string::npos);
  CHECK(message_of(kScenario + "options: [{name: a}]\n").find("no cluster") != std::string::npos);
  const std::string twice = "{name: a, cluster: {nodes: [{type: hgx-h100, count: 1}]}}";
  CHECK(message_of(kScenario + "options: [" + twice + ", " + twice + "]\n").find("has this name") != std::string::npos);
  const std::string mixed =
      "[{name: a, node_counts: [1], cluster: {nodes: [{type: hgx-h100, count: 1}, {type: hgx-h200, count: 1}]}}]";
  CHECK(message_of(kScenario + "options: " + mixed + "\n").find("one type") != std::string::npos);
}

TEST_CASE("text, JSON, CSV and the page hold the same rows") {
  const ComparisonFile file = file_of("order: cost\n");
  const Comparison all = compare_options(file, folders());
  const auto json = comparison_json(file, all);
  REQUIRE(json["options"].size() == all.rows.size());
  CHECK(json["options"][0]["cost_usd"] == all.rows.front().cost_usd->value);
  CHECK(json["options"].back()["cost_usd"].is_null());
  std::istringstream lines(comparison_csv(all));
  std::string head;
  std::getline(lines, head);
  std::size_t rows = 0;
  for (std::string line; std::getline(lines, line);) ++rows;
  CHECK(rows == all.rows.size());
  std::string keys;
  for (const auto& item : json["options"][0].items()) keys += (keys.empty() ? "" : ",") + item.key();
  CHECK(head == keys);
  CHECK(head ==
        "option,runs,nodes,gpus,iteration_time_s,iteration_time_low_s,iteration_time_high_s,mfu,finish_time_s,"
        "finish_time_low_s,finish_time_high_s,cost_usd,cost_low_usd,cost_high_usd,energy_j,energy_low_j,energy_high_j,"
        "facility_energy_j,co2_kg,co2_low_kg,co2_high_kg,memory_headroom,in_time,surely_in_time,latest_start,"
        "latest_sure_start,ties_with_first,strategy,reason,scenario");
  const std::string text = comparison_text(file, all);
  const std::string page = page_of(comparison_page_data(file, all));
  for (const OptionResult& row : all.rows) {
    CHECK(text.find(row.option) != std::string::npos);
    CHECK(page.find(row.option) != std::string::npos);
  }
}
