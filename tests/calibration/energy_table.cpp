#include "calibration/energy_table.hpp"

#include "base/error.hpp"
#include "calibration/calibration.hpp"
#include "calibration/profile_text.hpp"
#include "cost/gemm_model.hpp"
#include "cost/power_limit.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <array>

namespace energy_table_test {

using namespace mirfak;

namespace {

const Catalog& catalog() {
  static const Catalog catalog(source_root() + "/hw_profiles");
  return catalog;
}

CalibrationTarget target(bool score_only = false) {
  return {catalog(), "a100-80g", {}, Precision::bf16, {}, {}, score_only};
}

constexpr const char* kHeader =
    "kernel,precision,clock_hz,clock_set,flop,bytes,time_us,energy_j,power_w,temperature_c\n";

std::string row(const std::string& kernel, double clock_hz, bool set, double power_w) {
  return fmt::format("{},bf16,{},{},0,0,1,1,{},40\n", kernel, clock_hz, set ? 1 : 0, power_w);
}

std::vector<FittedSection> fitted(const std::string& rows, bool score_only = false) {
  return calibrate({CsvTable::from_text(kHeader + rows, "energy.csv")}, target(score_only));
}

// The energy of a card of that static share and exponent; products run at the power limit, streaming kernels below it.
std::string sweep(double static_share, double exponent) {
  const ClockPower power{{static_share, ""}, {exponent, ""}};
  std::string out;
  for (const double clock : {1410e6, 1305e6, 1200e6, 1050e6, 900e6, 705e6}) {
    out += row("gemm", clock, true, 380 * power.draw(clock / 1410e6));
    out += row("elementwise", clock, true, 260 * power.draw(clock / 1410e6));
  }
  return out;
}

}  // namespace

TEST_CASE("power without work and in waiting are the middle of their rows") {
  const auto sections =
      fitted(row("idle", 210e6, false, 61) + row("idle", 210e6, false, 58) + row("idle", 210e6, false, 90) +
             row("waiting", 1410e6, false, 111) + row("gemm", 1300e6, false, 395));
  REQUIRE(sections.size() == 1);
  CHECK(sections[0].path.empty());
  REQUIRE(sections[0].constants.size() == 2);
  CHECK(sections[0].constants[0].name == "idle_w");
  CHECK(sections[0].constants[0].value == 61);
  CHECK(sections[0].constants[1].name == "blocked_w");
  CHECK(sections[0].constants[1].value == 111);
}

TEST_CASE("what clocks do to power is found again in a table made with it") {
  for (const auto& [static_share, exponent] : {std::pair{0.3, 2.5}, std::pair{0.45, 4.0}}) {
    const auto sections = fitted(sweep(static_share, exponent));
    REQUIRE(sections.size() == 1);
    CHECK(sections[0].path == std::vector<std::string>{"clock_power"});
    CHECK(sections[0].constants[0].value == doctest::Approx(static_share).epsilon(0.02));
    CHECK(sections[0].constants[1].value == doctest::Approx(exponent).epsilon(0.02));
    CHECK(sections[0].scores.front().held_out.p90_ape < 0.01);
    CHECK(fitted(sweep(static_share, exponent), true)[0].scores.front().held_out.p90_ape > 0.03);
  }
}

TEST_CASE("how far long runs of products are slowed down is found again, and kernels below the limit keep the clock") {
  const GpuSpec gpu = catalog().gpu("a100-80g");
  const GemmModel model(gpu, Precision::bf16);
  for (const double share : {0.7, 0.95}) {
    CAPTURE(share);
    std::string rows =
        "kernel,precision,clock_hz,clock_set,flop,bytes,time_us,short_time_us,energy_j,power_w,temperature_c\n";
    const GemmShape shape{1, 8192, 8192, 8192};
    const GemmTime few = model.table_time(shape);
    const double utilisation = model.utilisation(few.busy_s, shape.flop());
    const PowerLimit limit{model.constants().power_threshold * share};
    const double many_s = few.overhead_s + few.busy_s / limit.clock_share(utilisation);
    REQUIRE(many_s > few.seconds);
    rows += fmt::format("gemm,bf16,1200e6,0,{},0,{},{},1,399,60\n", shape.flop(), many_s * 1e6, few.seconds * 1e6);
    rows += "elementwise,bf16,1395e6,0,0,512e6,300,299,1,300,60\n";
    const auto sections = calibrate({CsvTable::from_text(rows, "energy.csv")}, target());
    REQUIRE(sections.size() == 2);
    CHECK(sections[0].constants[0].name == "sustained_share");
    CHECK(sections[0].constants[0].value == doctest::Approx(1395.0 / 1410));
    CHECK(sections[1].path == std::vector<std::string>{"long_run_power"});
    for (const FittedConstant& each : sections[1].constants) {
      CHECK(each.value == doctest::Approx(share).epsilon(0.005));
    }
    CHECK(sections[1].scores.front().held_out.p90_ape + sections[1].scores.front().fitted.p90_ape < 1e-3);
  }
}

TEST_CASE("a profile takes both, and reads back") {
  const std::string text =
      with_sections("title: a card\nidle_w: [1, old]\n", fitted(row("idle", 210e6, false, 61) + sweep(0.3, 2.5)));
  CHECK(text.find("idle_w: [61, measured_power]") != std::string::npos);
  CHECK(text.find("clock_power:\n") != std::string::npos);
  CHECK(text.find("  static_share: [0.3") != std::string::npos);
}

TEST_CASE("a table that determines nothing is refused, and faults stand at their place") {
  CHECK_THROWS_WITH_AS(fitted(row("gemm", 1400e6, false, 395)), doctest::Contains("says nothing that a profile holds"),
                       Error);
  CHECK_THROWS_WITH_AS(fitted(row("idle", 210e6, false, -1)), doctest::Contains("energy.csv:2"), Error);
  CHECK_THROWS_WITH_AS(
      calibrate({CsvTable::from_text("kernel,precision,clock_hz,clock_set,flop,time_us,short_time_us,power_w\n"
                                     "gemm,bf17,1e9,0,1e12,2,1,390\n",
                                     "energy.csv")},
                target()),
      doctest::Contains("energy.csv:2:6"), Error);
}

}  // namespace energy_table_test
