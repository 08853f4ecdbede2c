#include "engine/link_queue.hpp"

#include "program_family.hpp"

#include <doctest/doctest.h>

#include <random>
#include <set>
#include <utility>

namespace mirfak {

TEST_CASE("link queue: links leave by their speeds, of few as of many, and what is not wanted never came") {
  std::mt19937_64 random(4);
  for (const std::uint64_t pushes : {1U, 2U, 5U}) {
    LinkQueue queue;
    std::multiset<std::pair<std::int64_t, std::uint32_t>> waiting;
    for (int step = 0; step < 2000; ++step) {
      for (std::uint64_t k = draw(random, pushes + 1); k-- > 0;) {
        const auto from = static_cast<std::int64_t>(draw(random, 1000));
        const auto link = static_cast<std::uint32_t>(draw(random, 100));
        const bool wanted = draw(random, 4) > 0;
        queue.push({from, link}, wanted);
        if (wanted) waiting.emplace(from, link);
      }
      REQUIRE(queue.empty() == waiting.empty());
      if (waiting.empty()) continue;
      const LinkQueue::Entry next = queue.pop();
      REQUIRE(next.from == waiting.begin()->first);
      const auto popped = waiting.find({next.from, next.link});
      REQUIRE(popped != waiting.end());
      waiting.erase(popped);
    }
  }
}

}  // namespace mirfak
