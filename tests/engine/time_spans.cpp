#include "engine/time_spans.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <random>
#include <vector>

using namespace mirfak;

namespace {

constexpr Picoseconds kEnd = 40;

TimeSpans drawn_spans(std::mt19937& random) {
  TimeSpans out;
  std::uniform_int_distribution<Picoseconds> time(0, kEnd);
  for (int i = 0; i < 6; ++i) {
    const Picoseconds a = time(random);
    const Picoseconds b = time(random);
    out.push_back({std::min(a, b), std::max(a, b)});
  }
  return out;
}

std::vector<bool> covered(const TimeSpans& spans) {
  std::vector<bool> out(kEnd);
  for (const TimeSpan& span : spans) {
    for (Picoseconds time = span.start; time < span.end; ++time) out[static_cast<std::size_t>(time)] = true;
  }
  return out;
}

bool ascends_apart(const TimeSpans& spans) {
  for (std::size_t i = 0; i < spans.size(); ++i) {
    if (spans[i].length() <= 0 || (i > 0 && spans[i - 1].end > spans[i].start)) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("spans that overlap or touch are joined, and empty ones left out") {
  const TimeSpans spans = joined({{7, 9}, {1, 3}, {3, 4}, {5, 5}, {2, 3}});
  REQUIRE(spans.size() == 2);  // 1 to 4, 7 to 9
  CHECK(spans[0].start == 1);
  CHECK(spans[0].end == 4);
  CHECK(spans[1].start == 7);
  CHECK(total_length(spans) == 5);
}

TEST_CASE("joining and cutting drawn spans says the same as looking at each time") {
  std::mt19937 random(7);
  for (int draw = 0; draw < 500; ++draw) {
    const TimeSpans all = drawn_spans(random);
    const TimeSpans by = joined(drawn_spans(random));
    TimeSpans from = joined(all);
    CHECK(ascends_apart(from));
    CHECK(covered(from) == covered(all));
    const Picoseconds before = total_length(from);
    const std::vector<bool> whole = covered(from);
    const std::vector<bool> cutter = covered(by);
    const Picoseconds removed = cut(from, by);
    CHECK(ascends_apart(from));
    CHECK(total_length(from) == before - removed);
    const std::vector<bool> left = covered(from);
    for (std::size_t time = 0; time < left.size(); ++time) CHECK(left[time] == (whole[time] && !cutter[time]));
  }
}
