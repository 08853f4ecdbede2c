#include "base/made_once.hpp"

#include "base/parallel.hpp"

#include <doctest/doctest.h>

#include <stdexcept>
#include <string>
#include <vector>

using namespace mirfak;

TEST_CASE("a value is made once for each key and keeps its address") {
  MadeOnce<int, std::string> known;
  int made = 0;
  const auto make = [&] { return std::to_string(++made); };
  const std::string& first = known.get(7, make);
  for (int key = 8; key < 100; ++key) known.get(key, make);
  CHECK(&known.get(7, make) == &first);
  CHECK(first == "1");
  CHECK(made == 93);
}

TEST_CASE("a failure is not kept") {
  MadeOnce<int, int> known;
  CHECK_THROWS_AS(known.get(1, []() -> int { throw std::runtime_error("no value"); }), std::runtime_error);
  CHECK(known.get(1, [] { return 5; }) == 5);
}

TEST_CASE("threads that ask for one key get one value") {
  MadeOnce<int, int> known;
  std::vector<const int*> got(64);
  parallel_for(
      got.size(), [&](std::size_t i) { got[i] = &known.get(0, [&] { return static_cast<int>(i); }); }, 4);
  for (const int* value : got) CHECK(value == got.front());
}
