#include "energy/stage_profile.hpp"

#include "base/error.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace mirfak;

namespace {

const std::string kHeader = "stage,instruction,frequency,time,energy\n";
const std::string kRows = "0,forward,1410,0.05,20\n0,backward,1410,0.1,40\n";

std::string complaint(const std::string& text) {
  try {
    read_stage_profile_text(text, "p.csv");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::input);
    return error.what();
  }
  return {};
}

bool says(const std::string& text, const std::string& part) { return complaint(text).find(part) != std::string::npos; }

}  // namespace

TEST_CASE("rows and columns in any order are the same profile") {
  const StageProfile profile = read_stage_profile_text(
      "energy,stage,time,frequency,instruction\n18,0,0.06,1200,forward\n40,0,0.1,1410,backward\n20,0,0.05,1410,"
      "forward\n",
      "p.csv");
  REQUIRE(profile.stages.size() == 1);
  const auto& forward = profile.stages[0][0];
  REQUIRE(forward.size() == 2);
  CHECK(forward[1] == ClockChoice{1410e6, 50'000'000'000, 20});
  CHECK(profile.stages[0][1].size() == 1);
}

TEST_CASE("what cannot be is refused with its line and column") {
  CHECK(says(kHeader + kRows + "1,forward,1410,nan,20\n", "p.csv:4:16: time: expected a number, found 'nan'"));
  CHECK(says(kHeader + kRows + "1,forward,1410,,20\n", "p.csv:4:16: time: expected a number"));
  CHECK(says(kHeader + kRows + "1,forward,1410,0,20\n", "p.csv:4:16: time"));
  CHECK(says(kHeader + kRows + "1,forward,1410,0.05,-1\n", "p.csv:4:21: energy"));
  CHECK(says(kHeader + kRows + "-1,forward,1410,0.05,20\n", "p.csv:4:1: stage"));
  CHECK(says(kHeader + kRows + "0.5,forward,1410,0.05,20\n", "p.csv:4:1: stage"));
  CHECK(says(kHeader + kRows + "0,forwards,1395,0.05,20\n", "did you mean 'forward'?"));
  CHECK(says("stage,instruction,frequency,time\n0,forward,1410,0.05\n", "no column 'energy'"));
}

TEST_CASE("a second row of the same pass and clock is refused, and the first is named") {
  CHECK(says(kHeader + kRows + "0,forward,1410,0.06,20\n", "p.csv:4:11: frequency: a second row"));
  CHECK(says(kHeader + kRows + "0,forward,1410,0.06,20\n", "the first is in line 2"));
}

TEST_CASE("a stage or a pass without rows is refused") {
  CHECK(says(kHeader, "the profile has no rows"));
  CHECK(says(kHeader + kRows + "2,forward,1410,0.05,20\n", "no row for the forward pass of stage 1"));
  CHECK(says(kHeader + "0,forward,1410,0.05,20\n", "no row for the backward pass of stage 0"));
}
