#include "scenario/assertions.hpp"

#include "base/error.hpp"
#include "scenario/scenario.hpp"
#include "simulation/figures.hpp"
#include "support/example.hpp"
#include "training/training_figures.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

using namespace mirfak;

namespace {

Example with_assertions(const std::string& list, std::vector<std::string> overrides = {}) {
  overrides.push_back("assert=" + list);
  return example(overrides);
}

AssertionResult checked(const Example& of) {
  return check_assertions(of.scenario.assertions, of.simulation.job, of.simulation.result);
}

std::string message_of(const std::string& list, const std::vector<std::string>& overrides = {}) {
  try {
    checked(with_assertions(list, overrides));
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::input);
    return std::string(error.what());
  }
  return "";
}

// The operations of a training with failures and saves.
const std::string kOperations =
    "operations={iterations: 100000, failures: {rate_per_node_day: 0.2}, restart_s: 600, checkpoint: {interval_s: "
    "3600}}";

TrainingPrediction trained(const Example& of) {
  return predict_training(of.scenario.job, operations_of(of.scenario), 64, 1);
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("what holds is silent, what does not says the figure and by how much") {
  const double seconds = example().simulation.result.iteration_time_s;
  const Example of =
      with_assertions(fmt::format("[iteration_time_s < {}, fits, iteration_time_s < {}]", 2 * seconds, seconds / 2));
  const AssertionResult result = checked(of);
  REQUIRE(result.broken.size() == 1);
  const std::string& text = result.broken.front().text;
  CHECK(has(text, fmt::format("is {:.6g}", seconds)));
  CHECK(has(text, "(100.0 %) above"));
  CHECK_FALSE(result.broken.front().straddles);
  CHECK(result.notes.empty());
  CHECK(has(broken_text(result), "assert: --set assert="));
}

TEST_CASE("whether the range straddles the limit is told, of what holds too") {
  const IterationResult plain = example().simulation.result;
  REQUIRE(plain.iteration_time_low_s < plain.iteration_time_s);
  const double below = (plain.iteration_time_low_s + plain.iteration_time_s) / 2;
  const double above = (plain.iteration_time_high_s + plain.iteration_time_s) / 2;
  const AssertionResult broken = checked(with_assertions(fmt::format("[iteration_time_s < {}]", below)));
  REQUIRE(broken.broken.size() == 1);
  CHECK(broken.broken.front().straddles);
  CHECK(has(broken.broken.front().text, "within the range of the prediction it may"));
  const AssertionResult close = checked(with_assertions(fmt::format("[iteration_time_s < {}]", above)));
  CHECK(close.broken.empty());
  CHECK(close.notes.size() == 1);
  // Rates and what a training takes follow the time.
  const double rate = plain.tokens_per_s * plain.iteration_time_s / below;
  CHECK(checked(with_assertions(fmt::format("[tokens_per_s > {}]", rate))).broken.front().straddles);
}

TEST_CASE("conditions are joined, and those that decide are told") {
  const AssertionResult result =
      checked(with_assertions("[mfu > 0.9 or hfu > 0.8, not fits, gpus == 16 and bubble_s < 0]"));
  REQUIRE(result.broken.size() == 3);
  CHECK(has(result.broken[0].text, "mfu is"));
  CHECK(has(result.broken[0].text, "hfu is"));
  CHECK(has(result.broken[1].text, "'not fits' does not hold"));
  CHECK_FALSE(has(result.broken[2].text, "gpus is"));
  CHECK(has(result.broken[2].text, "bubble_s is"));
  CHECK(has(broken_text(result), "3 assertions do not hold"));
}

TEST_CASE("names are those of the JSON, and others are refused with the nearest") {
  for (const IterationFigure& figure : iteration_figures()) {
    CAPTURE(figure.key);
    const std::string condition = figure.truth ? figure.key : figure.key + " >= 0";
    CHECK(read_assertions(Node(Document::from_text(condition, "assert"))).size() == 1);
  }
  CHECK(has(message_of("[iteration_tme_s < 3]"), "did you mean 'iteration_time_s'"));
  CHECK(has(message_of("[finish_time_s < 3]"), "did you mean 'train.finish_time_s'"));
  CHECK(has(message_of("[train.goodputt < 3]"), "did you mean 'train.goodput'"));
  CHECK(has(message_of("[tensor < 3]"), "unknown name 'tensor'"));
  CHECK(has(message_of("[mfu]"), "expected a condition"));
  CHECK(has(message_of("[mfu >]"), "but the rule ends"));
  CHECK(has(message_of("{mfu: 3}"), "expected"));
  CHECK(has(message_of("[co2_kg < 3]"), "co2_kg is not known of this job"));
  CHECK(has(message_of("[training_cost_usd < 3]", {"training.tokens=null"}), "is not known"));
}

TEST_CASE("assertions are part of the resolved scenario, and one may stand without a list") {
  const Example of = with_assertions("iteration_time_s < 1000");
  CHECK(of.scenario.assertions.size() == 1);
  const Document resolved = Document::from_text(of.scenario.resolved, "resolved");
  REQUIRE(resolved.root().find("assert") != nullptr);
  CHECK(resolved.root().find("assert")->scalar == "iteration_time_s < 1000");
}

TEST_CASE("figures at another time are those that a simulation of that time would have") {
  const Example of = example({"cluster.pue=1.2", "cluster.carbon_g_per_kwh=100"});
  const IterationResult& result = of.simulation.result;
  const Facility& facility = of.scenario.job.cluster.facility();
  const auto plain = figure_values(result, facility);
  const auto same = figure_values_at(result, facility, result.iteration_time_s, result.memory_peak_bytes);
  const auto twice = figure_values_at(result, facility, 2 * result.iteration_time_s, result.memory_peak_bytes);
  for (std::size_t i = 0; i < plain.size(); ++i) {
    CAPTURE(plain[i].key());
    CHECK(same[i].number == doctest::Approx(plain[i].number));
    const double ratio = twice[i].number / plain[i].number;
    if (plain[i].number > 0)
      CHECK((ratio == doctest::Approx(2) || ratio == doctest::Approx(1) || ratio == doctest::Approx(0.5)));
  }
}

TEST_CASE("of a training, its own figures and those of its iterations are checked") {
  const Example of = with_assertions(
      "[iteration_time_s < 1000, train.goodput > 0.01, train.goodput > 0.9999, train.lost.restart_s == 0, bubble_s < "
      "0]",
      {kOperations});
  const TrainingPrediction prediction = trained(of);
  REQUIRE(prediction.estimate.goodput < 0.9999);
  const AssertionResult result = check_assertions(of.scenario.assertions, of.scenario.job, prediction);
  REQUIRE(result.broken.size() == 3);
  CHECK(has(result.broken[0].text, fmt::format("train.goodput is {:.6g}", prediction.estimate.goodput)));
  CHECK(has(result.broken[1].text, "train.lost.restart_s is"));
  CHECK(has(result.broken[2].text, "bubble_s is"));
}

TEST_CASE("a training's iterations have the figures that simulate finds") {
  const Example of = with_assertions("[fits]", {kOperations});
  CHECK(trained(of).iteration == of.simulation.result);
}

TEST_CASE("an iteration alone says which conditions are of the whole training") {
  const Example of = with_assertions("[fits, train.goodput > 0.9999]", {kOperations});
  const AssertionResult result = checked(of);
  CHECK(result.broken.empty());
  REQUIRE(result.notes.size() == 1);
  CHECK(has(result.notes.front(), "'train.goodput > 0.9999' is not checked"));
  CHECK(notes_unchecked(of.scenario.assertions).size() == 1);
  CHECK(notes_unchecked({}).empty());
}

TEST_CASE("what chance could turn is told: limits within two standard errors") {
  const Example plain = example({kOperations});
  const TrainingPrediction prediction = trained(plain);
  const Estimated mean = prediction.estimate.finish_mean_s;
  REQUIRE(mean.error > 0);
  const auto result_at = [&](double errors) {
    const std::string limit = fmt::format("train.finish_time_mean_s < {:.17g}", mean.value + errors * mean.error);
    return check_assertions(with_assertions("[" + limit + "]", {kOperations}).scenario.assertions, plain.scenario.job,
                            prediction);
  };
  CHECK(result_at(3).notes.empty());
  CHECK(result_at(1).notes.size() == 1);
  REQUIRE(result_at(-1).broken.size() == 1);
  CHECK(result_at(-1).broken.front().straddles);
  CHECK_FALSE(result_at(-3).broken.front().straddles);
}

TEST_CASE("figures of a training follow its mean time") {
  const Example of = example({kOperations, "cluster.carbon_g_per_kwh=100"});
  const TrainingPrediction prediction = trained(of);
  const Facility& facility = of.scenario.job.cluster.facility();
  const std::vector<FigureValue> plain = training_values(prediction, facility);
  const std::vector<FigureValue> later = training_values_at(prediction, facility, 2);
  const double factor = 1 + 2 * prediction.estimate.finish_mean_s.error / prediction.estimate.finish_mean_s.value;
  double lost_s = 0;
  for (std::size_t i = 0; i < plain.size(); ++i) {
    const std::string& key = plain[i].key();
    CAPTURE(key);
    CHECK(key == training_figures()[i].key);
    if (key.starts_with("lost.")) lost_s += later[i].number;
    if (key == "gpu_hours" || key == "co2_kg" || key == "cost_usd") {
      CHECK(later[i].number == doctest::Approx(factor * plain[i].number));
    }
  }
  CHECK(lost_s + prediction.undisturbed_s == doctest::Approx(factor * prediction.estimate.finish_mean_s.value));
}
