#include "energy/cost_curve.hpp"

#include <doctest/doctest.h>

namespace cost_curve_test {

using namespace mirfak;

namespace {

constexpr Picoseconds kSecond = 1'000'000'000'000;

ClockChoice choice(double megahertz, double seconds, double energy_j) {
  return {megahertz * 1e6, to_picoseconds(seconds), energy_j};
}

}  // namespace

TEST_CASE("prices are joules per second saved") {
  const std::vector<ClockChoice> choices = {choice(1400, 1, 400), choice(1000, 2, 300), choice(800, 3, 250)};
  const PassChoices found = pass_choices(choices);
  CHECK(found.curve.durations == std::vector<Picoseconds>{3 * kSecond, 2 * kSecond, kSecond});
  CHECK(found.curve.prices == std::vector<Microwatts>{50'000'000, 100'000'000});
  CHECK(found.dominated == 0);
  CHECK(found.above_hull == 0);
}

TEST_CASE("the order of choices does not matter; those that help nobody are left out") {
  const ClockChoice fast = choice(1400, 1, 400);
  const ClockChoice slow = choice(900, 3, 300);
  const ClockChoice slower_and_costlier = choice(300, 4, 350);
  const ClockChoice same_time_costlier = choice(1000, 3, 310);
  const ClockChoice same_in_all = choice(1390, 1, 400);
  const std::vector<ClockChoice> choices = {slower_and_costlier, same_in_all, slow, fast, same_time_costlier};
  const PassChoices found = pass_choices(choices);
  CHECK(found.useful == std::vector<ClockChoice>{slow, fast});  // of equal ones the highest clock
  CHECK(found.dominated == 3);
}

TEST_CASE("a choice above the hull stays useful, but is no corner") {
  const std::vector<ClockChoice> choices = {choice(1400, 1, 400), choice(1000, 2, 390), choice(800, 3, 300)};
  const PassChoices found = pass_choices(choices);
  CHECK(found.useful.size() == 3);
  CHECK(found.above_hull == 1);
  CHECK(found.curve.durations == std::vector<Picoseconds>{3 * kSecond, kSecond});
  CHECK(found.curve.prices == std::vector<Microwatts>{50'000'000});
}

TEST_CASE("a single choice is a curve of one corner") {
  const std::vector<ClockChoice> choices = {choice(1400, 1, 400)};
  const PassChoices found = pass_choices(choices);
  CHECK(found.curve.durations == std::vector<Picoseconds>{kSecond});
  CHECK(found.curve.prices.empty());
}

TEST_CASE("prices strictly ascend even where they are equal, and are bounded") {
  const std::vector<ClockChoice> line = {choice(3, 1, 30), choice(2, 2, 20), choice(1, 3, 10)};
  CHECK(pass_choices(line).curve.durations == std::vector<Picoseconds>{3 * kSecond, kSecond});
  const std::vector<ClockChoice> cliff = {{2e9, 1'000'000, 1e6}, {1e9, 1'000'001, 1}};
  CHECK(pass_choices(cliff).curve.prices == std::vector<Microwatts>{CostCurve::kSteepest});
}

}  // namespace cost_curve_test
