// Choices among layouts, against scores computed by hand.

#include "validation/layout_choices.hpp"

#include "fixture.hpp"
#include "validation/validation_markdown.hpp"
#include "validation/validation_report.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace layout_choices_test {

using namespace mirfak;

namespace {

ValidatedRun candidate(const char* group, double predicted, double measured, bool fits = true) {
  ValidatedRun run;
  run.run.where = {"runs.csv", 2, 1};
  run.run.group = group;
  run.run.out_of_memory = measured == 0;
  run.run.ran = measured > 0;
  run.seconds = {predicted, measured};
  run.fits = fits;
  run.held_back = !fits;
  return run;
}

std::vector<LayoutChoice> judged(const std::vector<ValidatedRun>& runs, const std::string& tiers = "AB") {
  return layout_choices("runs", runs, tiers);
}

// Predicted order d, b, a, c, e; measured order a, b, c, d, e. The fastest of all is predicted to be one that failed.
std::vector<ValidatedRun> five() {
  return {candidate("|5|", 3, 10), candidate("|5|", 2, 11),  candidate("|5|", 4, 12),      candidate("|5|", 1, 15),
          candidate("|5|", 5, 20), candidate("|5|", 0.5, 0), candidate("|5|", 6, 0, false)};
}

}  // namespace

TEST_CASE("a group's order is judged by its times, and its choice by outcomes too") {
  const std::vector<LayoutChoice> groups = judged(five());
  REQUIRE(groups.size() == 1);
  const LayoutChoice& of = groups.front();
  CHECK(of.timed == 5);
  // Ranks 3 2 4 1 5 against 1 2 3 4 5: differences 2, 0, 1, -3, 0; 1 - 6 * 14 / (5 * 24).
  CHECK(of.correlation.value() == doctest::Approx(0.3));
  CHECK(of.regret.value() == doctest::Approx(0.5));           // 15 s instead of 10 s
  CHECK(of.regret_of_three.value() == doctest::Approx(0.0));  // 15, 11 and 10 s
  CHECK(of.failed == 2);
  CHECK(of.failed_fitting == 1);
  CHECK(of.ran_too_large == 0);
  CHECK(of.choice_ran == false);
  CHECK_FALSE(of.regret_of_choice.has_value());
}

TEST_CASE("what is predicted not to fit is not chosen, whether it ran or not") {
  const LayoutChoice of =
      judged({candidate("g", 1, 0, false), candidate("g", 2, 10, false), candidate("g", 3, 12)}).front();
  CHECK(of.failed_fitting == 0);
  CHECK(of.ran_too_large == 1);
  CHECK(of.regret.value() == doctest::Approx(0.0));
  CHECK(of.choice_ran == true);
  CHECK(of.regret_of_choice.value() == doctest::Approx(0.2));
  const LayoutChoice none = judged({candidate("g", 1, 2, false), candidate("g", 2, 3, false)}).front();
  CHECK_FALSE(none.choice_ran.has_value());
}

TEST_CASE("what a search holds back is not chosen, although it is predicted to fit") {
  std::vector<ValidatedRun> runs = {candidate("g", 1, 0), candidate("g", 2, 10), candidate("g", 3, 11)};
  runs[0].held_back = runs[1].held_back = true;
  const LayoutChoice of = judged(runs).front();
  CHECK(of.failed_fitting == 1);
  CHECK(of.failed_admitted == 0);
  CHECK(of.ran_too_large == 0);
  CHECK(of.ran_held_back == 1);
  CHECK(of.choice_ran == true);
  CHECK(of.regret_of_choice.value() == doctest::Approx(0.1));
}

TEST_CASE("of equal predictions the one that failed counts first, and then the slowest") {
  const LayoutChoice ran = judged({candidate("g", 1, 10), candidate("g", 1, 13)}).front();
  CHECK(ran.regret.value() == doctest::Approx(0.3));
  CHECK_FALSE(judged({candidate("g", 1, 10), candidate("g", 1, 0)}).front().choice_ran.value());
}

TEST_CASE("a choice needs two candidates of a group that counts; one time has no order") {
  CHECK(judged({candidate("", 1, 1), candidate("", 2, 2), candidate("g", 1, 1)}).empty());
  const LayoutChoice of = judged({candidate("g", 1, 5), candidate("g", 2, 0)}).front();
  CHECK_FALSE(of.correlation.has_value());
  CHECK_FALSE(of.regret.has_value());
  CHECK(of.regret_of_choice.value() == doctest::Approx(0.0));
  std::vector<ValidatedRun> runs = five();
  for (ValidatedRun& run : runs) run.run.tier = "C";
  CHECK(judged(runs).empty());
  CHECK(judged(runs, "C").size() == 1);
  for (ValidatedRun& run : runs) run.skipped = "not understood";
  CHECK(judged(runs, "C").empty());
}

TEST_CASE("in total, means are over the groups that know a figure, and counts are sums") {
  std::vector<ValidatedRun> runs = five();
  runs.push_back(candidate("g", 1, 10));
  runs.push_back(candidate("g", 2, 8));
  runs.push_back(candidate("h", 1, 7));
  runs.push_back(candidate("h", 2, 0, false));
  const LayoutChoices all = all_choices(judged(runs));
  CHECK(all.groups == 3);
  CHECK(all.timed == 8);
  CHECK(all.correlation.value() == doctest::Approx((0.3 - 1) / 2));
  CHECK(all.regret.value() == doctest::Approx((0.5 + 0.25) / 2));
  CHECK(all.regret_of_three.value() == doctest::Approx(0.0));
  CHECK(all.choices == 3);
  CHECK(all.choices_ran == 2);
  CHECK(all.regret_of_choice.value() == doctest::Approx((0.25 + 0) / 2));
  CHECK(all.failed == 3);
  CHECK(all.failed_fitting == 1);
  CHECK(all_choices({}).groups == 0);
  CHECK_FALSE(all_choices({}).regret.has_value());
}

TEST_CASE("groups stand in text, JSON and the report, and nowhere without groups") {
  const std::vector<ValidationTable> tables = {{"runs", five()}};
  const nlohmann::ordered_json json = validation_json(tables, "AB");
  CHECK(json.at("choices").at("groups") == 1);
  CHECK(json.at("choices").at("choices_ran") == 0);
  CHECK(json.at("choices").at("regret").get<double>() == doctest::Approx(0.5));
  REQUIRE(json.at("groups").size() == 1);
  CHECK(json.at("groups")[0].at("table") == "runs");
  CHECK(json.at("groups")[0].at("group") == "|5|");
  CHECK(json.at("groups")[0].at("choice_ran") == false);
  CHECK(json.at("groups")[0].at("regret_of_choice").is_null());
  CHECK(validation_text(tables, "AB", 1).find("out of memory") != std::string::npos);
  const std::string report = validation_markdown({}, {}, {}, tables);
  CHECK(report.find("| \\|5\\| | 5 | 0.300 | 50.0 % | 0.0 % | out of memory | - | 2 | 1 | 1 | 0 | 0 |") !=
        std::string::npos);
  CHECK(report.find("| **all 1 groups** | 5 | 0.300 | 50.0 % | 0.0 % | 0 of 1 ran |") != std::string::npos);
  const std::vector<ValidationTable> none = {{"runs", {candidate("", 1, 1)}}};
  CHECK_FALSE(validation_json(none, "AB").contains("groups"));
  CHECK(validation_markdown(none, {}, {}).find("Choices") == std::string::npos);
}

TEST_CASE("the column group of any table names a row's group") {
  CHECK(test::row_with({{"group", "one cluster"}}).run.group == "one cluster");
  CHECK(test::row_with({}).run.group.empty());
}

}  // namespace layout_choices_test
