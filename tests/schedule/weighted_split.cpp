// Layers over chunks by weights, the head behind the last layer.

#include "schedule/weighted_split.hpp"

#include <doctest/doctest.h>

using namespace mirfak;

TEST_CASE("chunks take layers until they have more than their share of all weights") {
  // All is 12: shares of 4. The second layer of 2 reaches 4, and the third exceeds it.
  CHECK(weighted_split(5, 3, 2, 2) == std::vector<int>{3, 2, 0});
  CHECK(weighted_split(24, 2, 32'768, 49'152) == std::vector<int>{13, 11});
  CHECK(weighted_split(4, 1, 1, 100) == std::vector<int>{4});
}
