#include "base/parallel.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <numeric>
#include <stdexcept>
#include <vector>

using namespace mirfak;

TEST_CASE("every index runs once, on any number of threads") {
  for (const int threads : {0, 1, 2, 7, 64}) {
    CAPTURE(threads);
    std::vector<std::atomic<int>> runs(10'000);
    parallel_for(
        runs.size(), [&](std::size_t i) { ++runs[i]; }, threads);
    for (const std::atomic<int>& count : runs) REQUIRE(count == 1);
  }
}

TEST_CASE("one thread means one at a time") {
  std::atomic<int> running = 0;
  std::atomic<int> most = 0;
  parallel_for(
      1000,
      [&](std::size_t) {
        most = std::max(most.load(), ++running);
        --running;
      },
      1);
  CHECK(most == 1);
}

TEST_CASE("nothing to do is done at once") {
  parallel_for(0, [](std::size_t) { FAIL("no index exists"); });
}

TEST_CASE("an exception of a body reaches the caller") {
  const auto run = [](int threads) {
    parallel_for(
        1000,
        [](std::size_t i) {
          if (i == 500) throw std::runtime_error("500");
        },
        threads);
  };
  CHECK_THROWS_WITH_AS(run(1), "500", std::runtime_error);
  CHECK_THROWS_WITH_AS(run(4), "500", std::runtime_error);
}

TEST_CASE("loops nest") {
  std::vector<std::vector<int>> table(20, std::vector<int>(50));
  parallel_for(table.size(), [&](std::size_t row) {
    parallel_for(table[row].size(), [&](std::size_t column) { table[row][column] = 1; });
  });
  for (const std::vector<int>& row : table) CHECK(std::accumulate(row.begin(), row.end(), 0) == 50);
}
