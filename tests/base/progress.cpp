#include "base/progress.hpp"

#include <doctest/doctest.h>

using namespace mirfak;

TEST_CASE("a line of progress says share, counts, rate and time left") {
  CHECK(progress_line("search", "strategies", 50, 200, 10) ==
        "search  [#####...............]  25 %  50.00 of 200.0 strategies, 5.000/s, 30.00 s left");
  CHECK(progress_line("search", "strategies", 0, 0, 0) ==
        "search  [....................]   0 %  0.000 of 0.000 strategies");
}

TEST_CASE("what is over at once says nothing") {
  std::string said;
  {
    Progress progress("search", "strategies", [&](std::string_view text) { said += text; });
    for (int done = 0; done <= 1000; ++done) progress.update(done, 1000);
  }
  CHECK(said.empty());
  Progress silent("search", "strategies", {});
  silent.update(1, 2);
}
