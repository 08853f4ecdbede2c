// PyTorch's caching allocator: the cases of tests/capture/capture_allocator_test.py, which the same rules decide.

#include "program/caching_allocator.hpp"

#include <doctest/doctest.h>

#include <array>
#include <random>
#include <vector>

namespace caching_allocator_test {

using namespace mirfak;

namespace {

constexpr std::int64_t kMib = std::int64_t{1} << 20;

}  // namespace

TEST_CASE("small requests share segments of 2 MiB, larger ones of 20, and large ones have their own") {
  CachingAllocator allocator;
  for (int i = 0; i < 4; ++i) allocator.allocate(kMib / 2.0);
  CHECK(allocator.allocated() == 2 * kMib);
  CHECK(allocator.reserved() == 2 * kMib);
  allocator.allocate(1);
  CHECK(allocator.allocated() == 2 * kMib + 512);
  CHECK(allocator.reserved() == 4 * kMib);

  CachingAllocator larger;
  larger.allocate(9.0 * kMib);
  larger.allocate(10.0 * kMib);  // of the 11 MiB that are left; 1 MiB is too little to split
  CHECK(larger.allocated() == 20 * kMib);
  CHECK(larger.reserved() == 20 * kMib);
  larger.allocate(10.5 * kMib + 1);
  CHECK(larger.reserved() == (20 + 12) * kMib);
}

TEST_CASE("the smallest free block that fits is split, and joins its neighbours again") {
  CachingAllocator allocator;
  const auto large = allocator.allocate(40.0 * kMib);
  const auto other = allocator.allocate(30.0 * kMib);
  allocator.free(large);
  allocator.free(other);
  const auto first = allocator.allocate(20.0 * kMib);  // of the 30 MiB
  const auto second = allocator.allocate(35.0 * kMib);
  CHECK(allocator.reserved() == 70 * kMib);
  const auto rest = allocator.allocate(10.0 * kMib);
  CHECK(allocator.reserved() == 70 * kMib);
  allocator.free(first);
  allocator.free(rest);
  allocator.allocate(30.0 * kMib);
  CHECK(allocator.reserved() == 70 * kMib);
  allocator.free(second);
}

// The example of reserved_memory.cpp.
TEST_CASE("what takes the place of freed memory leaves too little for what was there") {
  CachingAllocator allocator;
  const auto activations = allocator.allocate(512.0 * kMib);
  allocator.free(activations);
  allocator.allocate(200.0 * kMib);
  allocator.allocate(512.0 * kMib);
  CHECK(allocator.peak_allocated() == 712 * kMib);
  CHECK(allocator.reserved() == 1024 * kMib);
  CHECK(allocator.needed() == 1024 * kMib);
}

TEST_CASE("a device without more gets cached segments back first") {
  CachingAllocator allocator(false, 100.0 * kMib);
  const auto large = allocator.allocate(60.0 * kMib);
  allocator.free(large);
  const auto larger = allocator.allocate(80.0 * kMib);
  CHECK(allocator.reserved() == 80 * kMib);
  CHECK(allocator.needed() == 80 * kMib);
  allocator.allocate(40.0 * kMib);
  CHECK(allocator.needed() == 120 * kMib);
  allocator.free(larger);
}

TEST_CASE("growing requests leave holes, but not in a segment that grows") {
  for (const bool expandable : {false, true}) {
    CachingAllocator allocator(expandable);
    for (const double size : {12.0, 14.0, 16.0}) allocator.free(allocator.allocate(size * kMib));
    CHECK(allocator.peak_allocated() == 16 * kMib);
    CHECK(allocator.peak_reserved() == (expandable ? 20 : 42) * kMib);
    CHECK(allocator.needed() == (expandable ? 20 : 16) * kMib);
  }
}

TEST_CASE("a segment that grows gives free pages at its end back") {
  CachingAllocator allocator(true, 61.0 * kMib);
  allocator.free(allocator.allocate(60.0 * kMib));
  allocator.allocate(kMib / 2.0);
  CHECK(allocator.reserved() == 2 * kMib);
  CHECK(allocator.peak_reserved() == 60 * kMib);
  CHECK(allocator.needed() == 60 * kMib);
}

TEST_CASE("segments that grow do so by what is missing, in pages") {
  CachingAllocator allocator(true, 200.0 * kMib);
  const auto activations = allocator.allocate(120.0 * kMib);
  allocator.free(activations);
  allocator.allocate(50.0 * kMib);
  const auto again = allocator.allocate(120.0 * kMib);
  CHECK(allocator.reserved() == 180 * kMib);
  allocator.free(again);
  allocator.allocate(kMib / 2.0);
  const auto most = allocator.allocate(145.0 * kMib);
  CHECK(allocator.needed() == 202 * kMib);
  allocator.free(most);
}

TEST_CASE("what comes and goes at once leaves a sequence as allocating and freeing it does") {
  for (const bool expandable : {false, true}) {
    CAPTURE(expandable);
    std::mt19937 random(8);
    CachingAllocator passing(expandable, 400.0 * kMib);
    CachingAllocator freeing(expandable, 400.0 * kMib);
    std::vector<std::array<CachingAllocator::Block, 2>> live;
    for (int i = 0; i < 5'000; ++i) {
      const auto bytes = static_cast<double>(random() % (random() % 3 == 0 ? 40 * kMib : 2 * kMib));
      const auto draw = random() % 4;
      if (draw < 2) {
        passing.pass(bytes);
        freeing.free(freeing.allocate(bytes));
      } else if (draw == 2 && !live.empty()) {
        const auto gone = live.begin() + static_cast<std::ptrdiff_t>(random() % live.size());
        passing.free((*gone)[0]);
        freeing.free((*gone)[1]);
        live.erase(gone);
      } else {
        live.push_back({passing.allocate(bytes), freeing.allocate(bytes)});
      }
      REQUIRE(passing.allocated() == freeing.allocated());
      REQUIRE(passing.peak_allocated() == freeing.peak_allocated());
      REQUIRE(passing.reserved() == freeing.reserved());
      REQUIRE(passing.peak_reserved() == freeing.peak_reserved());
      REQUIRE(passing.needed() == freeing.needed());
    }
  }
}

TEST_CASE("any sequence: blocks in use are what is allocated, and all of them fit in what is reserved") {
  for (const bool expandable : {false, true}) {
    CAPTURE(expandable);
    std::mt19937 random(7);
    CachingAllocator allocator(expandable);
    std::vector<CachingAllocator::Block> live;
    std::int64_t most = 0;
    for (int i = 0; i < 20'000; ++i) {
      if (!live.empty() && random() % 2 == 0) {
        const std::size_t gone = random() % live.size();
        allocator.free(live[gone]);
        live.erase(live.begin() + static_cast<std::ptrdiff_t>(gone));
      } else {
        live.push_back(allocator.allocate(static_cast<double>(random() % (random() % 3 == 0 ? 100 * kMib : 2 * kMib))));
      }
      most = std::max(most, allocator.allocated());
      REQUIRE(allocator.reserved() >= allocator.allocated());
      REQUIRE(allocator.needed() >= allocator.peak_allocated());
      REQUIRE(allocator.needed() <= allocator.peak_reserved());
    }
    CHECK(allocator.peak_allocated() == most);
    for (const CachingAllocator::Block block : live) allocator.free(block);
    CHECK(allocator.allocated() == 0);
    // Everything joined again: one block of nearly all that growing segments hold.
    if (expandable) {
      const std::int64_t before = allocator.reserved();
      allocator.allocate(static_cast<double>(before) / 2);
      CHECK(allocator.reserved() == before);
    }
  }
}

}  // namespace caching_allocator_test
