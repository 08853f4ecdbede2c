#include "training/node_pool.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace mirfak {

TEST_CASE("places are picked in proportion to their nodes' factors") {
  NodePool pool({1, 5, 2, 2}, 4);
  CHECK(pool.weight() == doctest::Approx(2.5));
  std::vector<int> hits(4);
  for (int i = 0; i < 1000; ++i) ++hits[static_cast<std::size_t>(pool.place_at((i + 0.5) / 1000))];
  CHECK(hits == std::vector<int>{100, 500, 200, 200});
}

TEST_CASE("a switch takes its neighbours; spares and repairs fill their places") {
  NodePool pool({1, 1, 1, 1, 1, 1, 3}, 6);
  CHECK(pool.take(3, 2, 100) == 2);  // places 2 and 3
  CHECK(pool.missing() == 2);
  CHECK(pool.take(2, 1, 500) == 0);
  CHECK(pool.weight() == doctest::Approx(4.0 / 6));
  CHECK(pool.ready_s(10, 1) == 10);  // by the spare
  CHECK(pool.ready_s(10, 0) == 100);
  pool.refill(10);
  CHECK(pool.missing() == 1);
  CHECK(pool.weight() == doctest::Approx(7.0 / 6));
  pool.refill(100);
  CHECK(pool.missing() == 0);
  CHECK(pool.weight() == doctest::Approx(8.0 / 6));
}

}  // namespace mirfak
