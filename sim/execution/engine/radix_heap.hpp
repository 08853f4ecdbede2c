#pragma once

#include "program/program.hpp"

#include <array>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace mirfak {

// A monotone priority queue on integer time: a pushed time must not lie before the last popped time, which always holds
// in a simulation. Entries leave by (time, order of pushing), a total order: equal times are first in, first out, and
// no sequence number has to be stored to break ties.
//
// The idea is from Ahuja, Mehlhorn, Orlin, Tarjan, 1990, here with digits of four bits. Times are numbers of 16
// hexadecimal digits. An entry waits in the bucket named by the highest digit in which its time differs from the
// current time, and by the value of that digit: bucket (2, 7) holds the entries that agree with the current time above
// digit 2 and have a 7 there. The lowest occupied bucket therefore holds the earliest entries. pop() advances the
// current time to the earliest time in that bucket and deals its entries out to lower levels; a bucket of level 0 holds
// a single time. An entry only ever moves down, through as many levels as it takes to part it from its neighbours:
// about log16 of the number of entries. All moves append to and scan contiguous memory, so a million pending entries
// cost little more than a thousand, whereas each level of a binary heap costs a cache miss.
//
// Ties are first in, first out because the bucket of an entry depends only on its time and the current time: entries of
// equal time are always together, and pushing and dealing out both append in order.
template <class Payload>
class RadixHeap {
 public:
  struct Entry {
    Picoseconds time;
    Payload payload;
  };

  bool empty() const { return levels_ == 0; }

  // Returns the time of the last popped entry; 0 at first.
  Picoseconds now() const { return static_cast<Picoseconds>(now_); }

  // True if the next entry has the time of the last popped entry.
  bool next_is_now() const { return (digits_[0] >> (now_ % kRadix) & 1) != 0; }

  // Adds an entry; `time` must be >= now().
  void push(Picoseconds time, const Payload& payload) {
    assert(time >= now());
    place({time, payload});
  }

  // Removes and returns the earliest entry; the heap must not be empty().
  Entry pop() {
    return pop([](const Payload&) {});
  }

  // Removes and returns the earliest entry, and calls `soon(payload)` for entries that will be popped within the next
  // few hundred pops (for most of them, and for some more than once). The caller can then prefetch the memory that
  // handling these entries will touch.
  template <class Soon>
  Entry pop(const Soon& soon) {
    assert(!empty());
    while (true) {
      const auto level = static_cast<unsigned>(std::countr_zero(levels_));
      const auto digit = static_cast<unsigned>(std::countr_zero(digits_[level]));
      std::vector<Entry>& bucket = buckets_[level * kRadix + digit];
      if (level == 0) return pop_first(bucket, digit);
      mark_empty(level, digit);
      if (bucket.size() == 1) {
        const Entry only = bucket.front();
        bucket.clear();
        now_ = static_cast<std::uint64_t>(only.time);
        return only;
      }
      if (bucket.size() <= kSoon) {
        for (const Entry& entry : bucket) soon(entry.payload);
      }
      deal_out(bucket);
    }
  }

 private:
  static constexpr unsigned kBits = 4;  // measured: 3 and 5 are a fifth slower
  static constexpr unsigned kRadix = 1U << kBits;
  static constexpr unsigned kLevels = (64 + kBits - 1) / kBits;
  static constexpr std::size_t kSoon = 256;

  void place(const Entry& entry) {
    const auto time = static_cast<std::uint64_t>(entry.time);
    const auto level = static_cast<unsigned>(std::bit_width((time ^ now_) | 1) - 1) / kBits;
    const auto digit = static_cast<unsigned>(time >> (level * kBits)) % kRadix;
    levels_ |= 1U << level;
    digits_[level] |= std::uint64_t(1) << digit;
    buckets_[level * kRadix + digit].push_back(entry);
  }

  void mark_empty(unsigned level, unsigned digit) {
    digits_[level] &= ~(std::uint64_t(1) << digit);
    if (digits_[level] == 0) levels_ &= ~(1U << level);
  }

  Entry pop_first(std::vector<Entry>& bucket, unsigned digit) {
    const Entry first = bucket[popped_++];
    now_ = static_cast<std::uint64_t>(first.time);
    if (popped_ == bucket.size()) {
      bucket.clear();
      popped_ = 0;
      mark_empty(0, digit);
    }
    return first;
  }

  void deal_out(std::vector<Entry>& bucket) {
    Picoseconds earliest = bucket.front().time;
    for (const Entry& entry : bucket) earliest = entry.time < earliest ? entry.time : earliest;
    now_ = static_cast<std::uint64_t>(earliest);
    for (const Entry& entry : bucket) place(entry);
    bucket.clear();
  }

  std::uint64_t now_ = 0;
  std::uint32_t levels_ = 0;                     // bit l: some bucket of level l is occupied
  std::array<std::uint64_t, kLevels> digits_{};  // bit d: bucket (level, d) is occupied
  std::size_t popped_ = 0;                       // entries already taken from the bucket being drained at level 0
  std::vector<std::vector<Entry>> buckets_ = std::vector<std::vector<Entry>>(kLevels * kRadix);
};

}  // namespace mirfak
