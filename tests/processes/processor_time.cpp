#include "processes/processor_time.hpp"

#include <doctest/doctest.h>

using namespace mirfak::measure;

TEST_CASE("the first line of /proc/stat: what ran, guests counted once, and what was stolen") {
  const auto time = parse_processor_time(
      "cpu  100 20 30 4000 50 6 7 80 9 1\n"
      "cpu0 1 1 1 1 1 1 1 1 1 1\n");
  REQUIRE(time);
  CHECK(time->busy == 100 + 20 + 30 + 6 + 7);
  CHECK(time->stolen == 80);
}

TEST_CASE("a system that does not tell says nothing") {
  CHECK_FALSE(parse_processor_time(""));
  CHECK_FALSE(parse_processor_time("cpu  100 20 30 4000\n"));  // Linux before 2.6.11
  CHECK_FALSE(parse_processor_time("intr 1 2 3 4 5 6 7 8 9\n"));
  CHECK_FALSE(stolen_share(std::nullopt, ProcessorTime{1, 1}));
  CHECK_FALSE(stolen_share(ProcessorTime{1, 1}, std::nullopt));
}

TEST_CASE("stolen is a share of what processors had to run: idle ones do not dilute it") {
  CHECK(*stolen_share(ProcessorTime{100, 10}, ProcessorTime{190, 20}) == doctest::Approx(0.1));
  CHECK(*stolen_share(ProcessorTime{100, 10}, ProcessorTime{200, 10}) == 0);
  CHECK(*stolen_share(ProcessorTime{100, 10}, ProcessorTime{100, 10}) == 0);
  CHECK(*stolen_share(ProcessorTime{100, 10}, ProcessorTime{100, 9}) == 0);
}

TEST_CASE("on this machine it is a share") {
  const auto share = stolen_share_of_process();
  if (share) {
    CHECK(*share >= 0);
    CHECK(*share <= 1);
  }
}
