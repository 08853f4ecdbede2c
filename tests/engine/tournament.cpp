#include "engine/tournament.hpp"

#include "program_family.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>

namespace mirfak {

TEST_CASE("tournament: nobody takes part at first") { CHECK(Tournament().earliest() == Tournament::kNever); }

// Few different times, so that many are equal; and many at once, so that there are rounds to add.
TEST_CASE("tournament: the earliest of times that come, change and go") {
  std::mt19937_64 random(3);
  for (const std::uint64_t most : {3U, 9U, 70U, 700U}) {
    Tournament tournament;
    std::map<std::uint32_t, Picoseconds> times;  // by place
    for (int step = 0; step < 4000; ++step) {
      const auto time = static_cast<Picoseconds>(draw(random, 50));
      if (times.size() < most && draw(random, 3) > 0) {
        const std::uint32_t place = tournament.add(time);
        REQUIRE(times.emplace(place, time).second);
      } else if (!times.empty()) {
        const auto chosen = std::next(times.begin(), static_cast<std::ptrdiff_t>(draw(random, times.size())));
        if (draw(random, 4) > 0) {
          tournament.change(chosen->first, chosen->second = time);
        } else {
          tournament.remove(chosen->first);
          times.erase(chosen);
        }
      }
      if (times.empty()) continue;
      const auto earlier = [](const auto& a, const auto& b) { return a.second < b.second; };
      const Picoseconds earliest = std::min_element(times.begin(), times.end(), earlier)->second;
      REQUIRE(tournament.earliest() == earliest);
      REQUIRE(times.at(tournament.earliest_place()) == earliest);
    }
  }
}

}  // namespace mirfak
