// Words that ranks of one machine say to each other by sockets.

#include "processes/socket_world.hpp"

#include "ranks.hpp"

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <cmath>
#include <mutex>
#include <numeric>

using namespace mirfak;
using namespace mirfak::measure;
using namespace mirfak::test;

namespace {

constexpr int kRanks = 4;

// Returns the numbers that a body returns on all ranks.
template <typename T>
std::vector<T> on_all(int ranks, const std::function<T(SocketWorld&)>& body) {
  std::vector<T> out(static_cast<std::size_t>(ranks));
  const std::vector<std::string> faults =
      in_threads(ranks, [&](SocketWorld& world) { out[static_cast<std::size_t>(world.rank())] = body(world); });
  for (const std::string& fault : faults) CHECK_MESSAGE(fault.empty(), fault);
  return out;
}

// 0, 1, 2, ... and so many of them.
std::vector<double> numbers(std::size_t count, double first) {
  std::vector<double> out(count);
  std::iota(out.begin(), out.end(), first);
  return out;
}

}  // namespace

TEST_CASE("a round trip's middle is taken for rank 0's time") {
  ClockEstimate estimate;
  CHECK(std::isinf(estimate.error_s()));
  estimate.add_round(10, 115, 14);  // the middle is 12, half of it 2
  CHECK(estimate.offset_s() == 103);
  CHECK(estimate.error_s() == 2);
  estimate.add_round(20, 121, 26);  // slower: says less
  CHECK(estimate.offset_s() == 103);
  estimate.add_round(30, 131, 31);
  CHECK(estimate.offset_s() == 100.5);
  CHECK(estimate.error_s() == 0.5);
}

TEST_CASE("arrays of all ranks come to rank 0, whatever their lengths") {
  // The third is larger than any buffer of the system.
  for (const std::size_t each : {0U, 1U, 1U << 20U}) {
    const auto gathered = on_all<std::vector<std::vector<double>>>(kRanks, [&](SocketWorld& world) {
      const auto rank = static_cast<std::size_t>(world.rank());
      return world.gather(numbers(rank * each, world.rank()));
    });
    REQUIRE(gathered.front().size() == kRanks);
    for (std::size_t rank = 0; rank < kRanks; ++rank) {
      CHECK(gathered.front()[rank] == numbers(rank * each, static_cast<double>(rank)));
      if (rank > 0) CHECK(gathered[rank].empty());
    }
  }
}

TEST_CASE("bytes of any rank are told to all") {
  for (const int from : {0, 2, kRanks - 1}) {
    for (const std::size_t count : {0U, 128U, 1U << 20U}) {
      const auto told = on_all<std::vector<double>>(kRanks, [&](SocketWorld& world) {
        std::vector<double> out = numbers(count, world.rank() == from ? 7 : 1000);
        world.tell_all(std::as_writable_bytes(std::span(out)), from, "hear numbers");
        return out;
      });
      for (const std::vector<double>& of_rank : told) CHECK(of_rank == numbers(count, 7));
    }
  }
}

TEST_CASE("nobody leaves a meeting before all have come") {
  std::atomic<int> came = 0;
  const auto seen = on_all<int>(kRanks, [&](SocketWorld& world) {
    int least = kRanks;
    for (int meeting = 1; meeting <= 20; ++meeting) {
      ++came;
      world.meet("begin");
      least = std::min(least, came.load() - (meeting - 1) * kRanks);
    }
    return least;
  });
  for (const int least : seen) CHECK(least >= kRanks);
}

TEST_CASE("stopping: all of them, or not in time") {
  const auto all = on_all<int>(kRanks, [](SocketWorld& world) { return world.all_stop(60) ? 1 : 0; });
  CHECK(all == std::vector<int>(kRanks, 1));
  const auto two = on_all<int>(3, [](SocketWorld& world) {
    const bool stopped = world.rank() != 1 && world.all_stop(0.2);
    world.meet("go on");
    return stopped ? 1 : 0;
  });
  CHECK(two == std::vector<int>(3, 0));
}

TEST_CASE("ranks of one machine have one clock, and a place each") {
  const auto clocks = on_all<World::Clock>(kRanks, [](SocketWorld& world) { return world.clock(); });
  for (const World::Clock& clock : clocks) {
    CHECK(clock.offset_s == 0);
    CHECK(clock.error_s == 0);
  }
  const auto places = on_all<int>(kRanks, [](SocketWorld& world) { return world.place_on_machine(); });
  CHECK(places == std::vector<int>{0, 1, 2, 3});
}

TEST_CASE("round trips find a clock as well as they say") {
  const auto clocks = on_all<World::Clock>(kRanks, [](SocketWorld& world) { return world.clock_by_round_trips(); });
  CHECK(clocks.front().offset_s == 0);
  for (const World::Clock& clock : clocks) {
    CHECK(clock.error_s > 0);
    CHECK(clock.error_s == clocks.front().error_s);
    // It is the same clock: the truth is 0.
    CHECK(std::abs(clock.offset_s) <= clock.error_s / 2);
  }
}

TEST_CASE("a process alone talks to nobody") {
  SocketWorld world(JobLaunch{}, {});
  CHECK(world.size() == 1);
  world.meet("begin");
  CHECK(world.all_stop(0));
  CHECK(world.gather(numbers(3, 0)) == std::vector<std::vector<double>>{numbers(3, 0)});
  double number = 5;
  world.tell_all(std::as_writable_bytes(std::span(&number, 1)), 0, "hear a number");
  CHECK(number == 5);
  CHECK(world.clock_by_round_trips().error_s == 0);
  CHECK(world.place_on_machine() == 0);
}

TEST_CASE("the launcher's word on places counts") {
  JobLaunch launch;
  launch.place = 3;
  CHECK(SocketWorld(launch, {}).place_on_machine() == 3);
}

TEST_CASE("every rank hears which ranks gave the same bytes, and which are of one machine") {
  const auto alike = on_all<std::vector<int>>(kRanks, [](SocketWorld& world) {
    const std::array<char, 3> own = {'g', 'p', static_cast<char>('0' + world.rank() % 2)};
    return world.first_alike(std::as_bytes(std::span(own)), "tell GPUs apart");
  });
  for (const std::vector<int>& heard : alike) CHECK(heard == std::vector<int>{0, 1, 0, 1});
  for (const std::vector<int>& heard :
       on_all<std::vector<int>>(kRanks, [](SocketWorld& world) { return world.machines(); })) {
    CHECK(heard == std::vector<int>(kRanks, 0));
  }
}
