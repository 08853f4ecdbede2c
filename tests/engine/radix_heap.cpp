#include "engine/radix_heap.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <queue>
#include <random>
#include <utility>
#include <vector>

namespace mirfak {

namespace {

// The order that the heap promises, by a queue that sorts by it: (time, order of pushing).
class SortedQueue {
 public:
  void push(Picoseconds time) { entries_.emplace(time, pushed_++); }
  std::pair<Picoseconds, std::uint32_t> pop() {
    const auto first = entries_.top();
    entries_.pop();
    return first;
  }
  bool empty() const { return entries_.empty(); }

 private:
  using Entry = std::pair<Picoseconds, std::uint32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> entries_;
  std::uint32_t pushed_ = 0;
};

void check_against_sorted_queue(std::uint64_t seed, unsigned bits_of_delay, int operations) {
  std::mt19937_64 random(seed);
  RadixHeap<std::uint32_t> heap;
  SortedQueue sorted;
  std::uint32_t pushed = 0;
  for (int k = 0; k < operations || !heap.empty(); ++k) {
    const bool push = k < operations && (heap.empty() || random() % 9 < 5);
    if (push) {
      const auto delay = static_cast<Picoseconds>(random() >> (64 - 1 - random() % bits_of_delay) >> 1);
      heap.push(heap.now() + delay, pushed++);
      sorted.push(heap.now() + delay);
      continue;
    }
    const auto [time, payload] = heap.pop();
    const auto [expected_time, expected_payload] = sorted.pop();
    REQUIRE(time == expected_time);
    REQUIRE(payload == expected_payload);
    REQUIRE(heap.now() == time);
    REQUIRE(heap.empty() == sorted.empty());
  }
}

}  // namespace

TEST_CASE("radix heap: entries leave in order of time, whatever the order of arrival") {
  RadixHeap<int> heap;
  for (const Picoseconds time : {30, 10, 4096, 20, 0, 1 << 20, 15}) heap.push(time, 0);
  std::vector<Picoseconds> times;
  while (!heap.empty()) times.push_back(heap.pop().time);
  CHECK(times == std::vector<Picoseconds>{0, 10, 15, 20, 30, 4096, 1 << 20});
}

TEST_CASE("radix heap: equal times leave in the order in which they were pushed") {
  RadixHeap<int> heap;
  heap.push(100, 0);
  heap.push(50, 1);
  heap.push(100, 2);
  CHECK(heap.pop().payload == 1);
  heap.push(100, 3);  // pushed from another "now", and so from another bucket's view
  heap.push(50, 4);
  CHECK(heap.next_is_now());
  CHECK(heap.pop().payload == 4);
  CHECK_FALSE(heap.next_is_now());
  CHECK(heap.pop().payload == 0);
  heap.push(100, 5);
  CHECK(heap.pop().payload == 2);
  CHECK(heap.pop().payload == 3);
  CHECK(heap.next_is_now());
  CHECK(heap.pop().payload == 5);
  CHECK(heap.empty());
}

TEST_CASE("radix heap: the whole range of time") {
  RadixHeap<int> heap;
  constexpr Picoseconds last = std::numeric_limits<Picoseconds>::max();
  heap.push(last, 1);
  heap.push(last - 1, 2);
  heap.push(0, 3);
  CHECK(heap.pop().payload == 3);
  CHECK(heap.pop().payload == 2);
  CHECK(heap.pop().time == last);
}

TEST_CASE("radix heap: soon() is told of entries before they are popped") {
  RadixHeap<int> heap;
  std::vector<bool> told(1000, false);
  for (int k = 0; k < 1000; ++k) heap.push(7919 * k % 100003, k);
  int announced = 0;
  while (!heap.empty()) {
    const auto entry = heap.pop([&](int payload) { told[static_cast<std::size_t>(payload)] = true; });
    announced += told[static_cast<std::size_t>(entry.payload)];
  }
  CHECK(announced > 900);
}

TEST_CASE("radix heap: the order of a sorted queue, over random delays from ties to days") {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    for (const unsigned bits : {1U, 2U, 4U, 12U, 30U, 52U}) check_against_sorted_queue(seed, bits, 2000);
  }
}

}  // namespace mirfak
