#include "base/cancellation.hpp"

#include "base/parallel.hpp"

#include <doctest/doctest.h>

#include <atomic>

using namespace mirfak;

TEST_CASE("work without a scope is never given up") {
  CHECK(cancellation_flag() == nullptr);
  CHECK_NOTHROW(check_cancelled());
}

TEST_CASE("a set flag ends the work of its scope, the inner one's where scopes nest") {
  std::atomic<bool> outer{true};
  std::atomic<bool> inner{false};
  const CancellationScope scope(&outer);
  {
    const CancellationScope nested(&inner);
    CHECK_NOTHROW(check_cancelled());
    inner = true;
    CHECK_THROWS_AS(check_cancelled(), Cancelled);
    inner = false;
  }
  CHECK_THROWS_AS(check_cancelled(), Cancelled);
}

TEST_CASE("a loop of short steps looks now and then, and soon enough") {
  std::atomic<bool> flag{false};
  int looks = 0;
  const std::function<void()> look = [&] { ++looks; };
  const CancellationScope scope(&flag, &look);
  CancellationSteps steps;
  for (int i = 0; i < 100'000; ++i) steps.step();
  CHECK(looks > 1);
  CHECK(looks < 100);
  steps.step(1'000'000);
  const int before = looks;
  steps.step(1'000'000);
  CHECK(looks == before + 1);
  flag = true;
  CHECK_THROWS_AS(steps.step(1'000'000), Cancelled);
}

TEST_CASE("who has nobody else to set the flag is asked to look, on its own thread alone") {
  std::atomic<bool> flag{false};
  int looks = 0;
  const std::function<void()> look = [&] { flag = ++looks == 3; };
  const CancellationScope scope(&flag, &look);
  check_cancelled();
  check_cancelled();
  CHECK_THROWS_AS(check_cancelled(), Cancelled);
  CHECK(looks == 3);
}

TEST_CASE("parallel bodies that have not begun are given up, on every thread") {
  std::atomic<bool> flag{false};
  std::atomic<int> ran{0};
  const CancellationScope scope(&flag);
  constexpr std::size_t kBodies = 100'000;
  const auto body = [&](std::size_t /*index*/) {
    if (++ran == 10) flag = true;
    check_cancelled();
  };
  CHECK_THROWS_AS(parallel_for(kBodies, body), Cancelled);
  CHECK(ran < 1000);
  flag = false;
  ran = 100;
  CHECK_NOTHROW(parallel_for(kBodies, body));
  CHECK(ran == 100 + kBodies);
}
