#include "validation/validation_report.hpp"
#include "validation/validation_markdown.hpp"
#include "validation/validation_plots.hpp"

#include "base/csv.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>

namespace validation_report_test {

using namespace mirfak;

namespace {

ValidatedRun run_of(int line, const char* tier, double predicted, double measured, const char* skipped = "") {
  ValidatedRun run;
  run.run.where = {"runs.csv", line, 1};
  run.run.tier = tier;
  run.run.model = "GPT, \"large\"";
  run.run.gpus = 8;
  run.seconds = {predicted, measured};
  run.skipped = skipped;
  return run;
}

// Errors +10 %, -20 %, one row skipped, one of a tier that does not count.
std::vector<ValidationTable> example() {
  return {{"runs",
           {run_of(2, "A", 1.1, 1.0), run_of(3, "", 1.6, 2.0), run_of(4, "B", 0, 3.0, "no such GPU"),
            run_of(5, "C", 9.0, 1.0)}}};
}

}  // namespace

TEST_CASE("the JSON has the keys that programs rely on, and all rows that count") {
  const nlohmann::ordered_json json = validation_json(example(), "AB");
  CHECK(json.at("n") == 2);
  CHECK(json.at("skipped") == 1);
  CHECK(json.at("mape").get<double>() == doctest::Approx(0.15));
  CHECK(json.at("median_ape").get<double>() == doctest::Approx(0.15));
  CHECK(json.at("p90_ape").get<double>() == doctest::Approx(0.19));
  CHECK(json.at("spearman").get<double>() == doctest::Approx(1));
  REQUIRE(json.at("rows").size() == 2);
  CHECK(json.at("rows")[1].at("predicted") == 1.6);
  CHECK(json.at("rows")[1].at("measured") == 2.0);
  CHECK(json.at("rows")[1].at("error").get<double>() == doctest::Approx(-0.2));
  CHECK(json.at("skipped_rows")[0].at("reason") == "no such GPU");
  CHECK(validation_json(example(), "ABC").at("n") == 3);
}

TEST_CASE("runs that did not fit are told from skipped ones and have no error") {
  std::vector<ValidationTable> tables = example();
  ValidatedRun failed = run_of(6, "A", 1, 0);
  failed.run.out_of_memory = true;
  tables[0].runs.push_back(failed);
  failed.fits = true;
  tables[0].runs.push_back(failed);
  const nlohmann::ordered_json json = validation_json(tables, "AB");
  CHECK(json.at("n") == 2);
  CHECK(json.at("skipped") == 1);
  CHECK(json.at("out_of_memory").at("n") == 2);
  CHECK(json.at("out_of_memory").at("predicted_to_fit") == 1);
  REQUIRE(json.at("out_of_memory_rows").size() == 2);
  CHECK(json.at("out_of_memory_rows")[1].at("fits") == true);
  ValidatedRun untimed = run_of(7, "A", 1, 0);
  untimed.run.ran = true;
  untimed.fits = true;
  tables[0].runs.push_back(untimed);
  CHECK(validation_json(tables, "AB").at("ran") == nlohmann::ordered_json({{"n", 3}, {"predicted_to_fit", 1}}));
  CHECK(validation_json(tables, "AB").at("untimed_rows").size() == 1);
  CHECK(validation_text(tables, "AB", 1).find("out of memory  predicted not to fit") != std::string::npos);
  CHECK(validation_text(tables, "AB", 1).find("40.0 %") != std::string::npos);  // 1 of 3 that ran, 1 of 2 that did not
  CHECK(validation_markdown(tables, {}, {}).find("2 of 3 rows that ran are predicted not to fit; 1 of 2") !=
        std::string::npos);
  CHECK(CsvTable::from_text(validation_csv(tables), "errors.csv").rows() == 7);
}

TEST_CASE("the text lists the worst rows first, and every skipped row with its reason") {
  const std::string text = validation_text(example(), "AB", 1);
  CHECK(text.find("15.0 %") != std::string::npos);
  CHECK(text.find("runs.csv:3:1") != std::string::npos);  // -20 %
  CHECK(text.find("runs.csv:2:1") == std::string::npos);  // +10 %: only one asked for
  CHECK(text.find("no such GPU") != std::string::npos);
}

TEST_CASE("the CSV reads back with every row") {
  const CsvTable table = CsvTable::from_text(validation_csv(example()), "errors.csv");
  REQUIRE(table.rows() == 4);
  CHECK(table.text(0, table.require("model")) == "GPT, \"large\"");
  CHECK(table.number(1, table.require("error"), -1, 1) == doctest::Approx(-0.2));
  CHECK(table.text(2, table.require("skipped")) == "no such GPU");
}

TEST_CASE("the report names the reason found for a row") {
  const Findings findings{{{"runs", 2, 2, "host-bound"}}, {}, "a finer host"};
  const std::string text = validation_markdown(example(), findings, {"plot.svg", "ranges.svg"});
  CHECK(text.find("host-bound") != std::string::npos);
  CHECK(text.find("a finer host") != std::string::npos);
  CHECK(text.find("](plot.svg)") != std::string::npos);
  CHECK(text.find("no such GPU") != std::string::npos);
}

TEST_CASE("the report keeps the errors of a first contact next to today's") {
  const std::string none = validation_markdown(example(), {}, {});
  CHECK(none.find("First contact") == std::string::npos);
  Findings findings;
  findings.first_contacts = {{"runs", "1f2e3d4", 2, 0.4, 0.35, -0.4, 0.5}, {"other", "1f2e3d4", 3, 0.1, 0.1, 0.1, 1}};
  const std::string text = validation_markdown({}, findings, {}, example());
  // Today: +10 % and -20 %, neither with a range.
  CHECK(text.find("| runs | 1f2e3d4 | 2 | 40.0 % | 35.0 % | -40.0 % | 50.0 % | 2 | 15.0 % | 15.0 % | -5.0 % | ") !=
        std::string::npos);
  CHECK(text.find("| other | 1f2e3d4 | 3 | 10.0 % | 10.0 % | +10.0 % | 100.0 % | - | - | - | - | - |") !=
        std::string::npos);
}

TEST_CASE("with enough tables the report says how honest ranges are") {
  std::vector<ValidationTable> tables;
  for (const char* name : {"a", "b", "c"}) {
    ValidationTable& table = tables.emplace_back();
    table.name = name;
    for (int i = 0; i < 20; ++i) {
      ValidatedRun& run = table.runs.emplace_back();
      run.run.where.file = std::string(name) + ".csv";
      run.run.tier = "A";
      run.seconds = {1, 1 + 0.01 * (i - 10)};
      run.run.seconds = run.seconds.measured;
      run.uncertainty = {1, 0, 0, 0};
    }
  }
  const std::vector<Reliability> points = reliability_of_tables(tables);
  REQUIRE(points.size() == 10);
  for (std::size_t i = 0; i < points.size(); ++i) {
    CHECK(points[i].coverage == doctest::Approx(points[i].level).epsilon(0.5).scale(0.2));
    if (i > 0) CHECK(points[i].mean_width > points[i - 1].mean_width);
  }
  const std::string text = validation_markdown(tables, {}, {"plot.svg", "ranges.svg"});
  CHECK(text.find("](ranges.svg)") != std::string::npos);
  CHECK(text.find("| **mean of 3 tables** | | ") != std::string::npos);
  const std::string svg = reliability_svg(points);
  CHECK(svg.find("nan") == std::string::npos);
  CHECK(svg.find("% wide") != std::string::npos);

  tables.pop_back();
  CHECK(reliability_of_tables(tables).empty());
  CHECK(validation_markdown(tables, {}, {"plot.svg", "ranges.svg"}).find("ranges.svg") == std::string::npos);
}

TEST_CASE("points of equal predictions and measurements lie on the diagonal") {
  const std::string svg = scatter_svg(std::vector<ScatterSeries>{{"a < b", {{1, 1}, {10, 10}, {100, 100}}}});
  CHECK(svg.find("a &lt; b") != std::string::npos);
  // Two decades over 560 units from 70 (x) and 20 (y, downwards): 10 s is in the middle.
  CHECK(svg.find("<circle cx='350.0' cy='300.0'") != std::string::npos);
  CHECK(svg.find("<circle cx='70.0' cy='580.0'") != std::string::npos);
  CHECK(svg.find("nan") == std::string::npos);
  CHECK(scatter_svg({}).find("nan") == std::string::npos);
}

}  // namespace validation_report_test
