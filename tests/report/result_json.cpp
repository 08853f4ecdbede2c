#include "report/result_json.hpp"

#include "support/example.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace mirfak;

namespace {

void check_numbers(const nlohmann::ordered_json& value) {
  if (value.is_number_float()) CHECK(std::isfinite(value.get<double>()));
  if (value.is_structured()) {
    for (const auto& item : value) check_numbers(item);
  }
}

}  // namespace

TEST_CASE("the contract's keys are there and say what the result says") {
  const Example e = example();
  const IterationResult& r = e.simulation.result;
  const auto json = result_json(e.simulation, 0.25);
  for (const char* key : {"iteration_time_s",
                          "tokens_per_s",
                          "tokens_per_s_per_gpu",
                          "tflops_per_gpu",
                          "mfu",
                          "hfu",
                          "gpus",
                          "bubble_fraction",
                          "exposed_communication_s",
                          "memory_peak_bytes",
                          "memory_capacity_bytes",
                          "fits",
                          "energy_j",
                          "average_power_w",
                          "cost_usd_per_iteration",
                          "training_time_s",
                          "training_iterations",
                          "training_energy_j",
                          "training_cost_usd",
                          "gpu_of_others_s",
                          "prices",
                          "events",
                          "wall_time_s"}) {
    CAPTURE(key);
    REQUIRE(json.contains(key));
    CHECK_FALSE(json[key].is_null());
  }
  CHECK(json["iteration_time_s"] == r.iteration_time_s);
  CHECK(json["gpus"] == 16);
  CHECK(json["gpus"].is_number_integer());
  CHECK(json["fits"].is_boolean());
  CHECK(json["wall_time_s"] == 0.25);
  CHECK(json["stages"].size() == 4);
  const double iterations = json["training_iterations"].get<double>();
  CHECK(iterations == doctest::Approx(r.training_time_s / r.iteration_time_s));
  CHECK(json["training_energy_j"].get<double>() == doctest::Approx(r.energy_j * iterations));
  CHECK(json["prices"].front()["usd_per_gpu_hour"].get<double>() > 0);
  check_numbers(json);
  CHECK(nlohmann::ordered_json::parse(json.dump()) == json);
}

TEST_CASE("a stage's activities add up to the iteration, its memory parts to its peak") {
  const Example e = example();
  const auto json = result_json(e.simulation, 0);
  for (const auto& stage : json["stages"]) {
    double seconds = 0;
    for (const auto& part : stage["activities"]) seconds += part.get<double>();
    CHECK(seconds == doctest::Approx(json["iteration_time_s"].get<double>()));
    double bytes = 0;
    for (const char* part :
         {"parameters", "gradients", "optimizer", "activations", "workspace", "communication", "platform"}) {
      bytes += stage["memory"][std::string(part) + "_bytes"].get<double>();
    }
    CHECK(bytes == doctest::Approx(stage["memory"]["peak_bytes"].get<double>()));
  }
}

TEST_CASE("what is not known is null") {
  Example e = example({"training.tokens=null"});
  e.simulation.result.priced = false;
  const auto json = result_json(e.simulation, 0);
  CHECK(json["cost_usd_per_iteration"].is_null());
  CHECK(json["training_time_s"].is_null());
  CHECK(json["training_cost_usd"].is_null());
}
