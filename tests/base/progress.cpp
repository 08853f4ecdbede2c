#include "base/progress.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace mirfak;

TEST_CASE("a line of progress says how much, how fast and how long still") {
  // 1,000 of 2,000 in 10 s: 100 a second, 10 s left.
  CHECK(progress_line({1000, 2000, 0, 10}, "points", 80) ==
        "[###############...............]  50 %  1,000 of 2,000 points  100/s  0:10 left");
}

TEST_CASE("what was there before says nothing about the rate") {
  // 100 in 50 s: 2 a second, 1,000 left.
  CHECK(progress_line({1000, 2000, 900, 50}, "points", 50) == " 50 %  1,000 of 2,000 points  2.0/s  8:20 left");
}

TEST_CASE("nothing is promised before anything is done, and the line never exceeds the terminal") {
  CHECK(progress_line({0, 7, 0, 3}, "points", 80) == "[..............................]   0 %  0 of 7 points");
  for (int columns = 0; columns < 100; ++columns) {
    CHECK(progress_line({123456, 7654321, 12, 4000}, "points", columns).size() <= static_cast<std::size_t>(columns));
  }
}

TEST_CASE("the bar is erased at the end, and nothing is printed where nobody looks") {
  std::string shown;
  {
    Progress progress("points", 10, 0, [&](std::string_view text) { shown += text; });
    progress.add(5);
  }
  CHECK(shown.find("5 of 10 points") != std::string::npos);
  CHECK(shown.ends_with("\r\x1b[K"));
  Progress silent("points", 10, 0, {});
  silent.add(10);
}
