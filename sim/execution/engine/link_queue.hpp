#pragma once

#include "engine/choose.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace mirfak {

// Queue of links to look at, lowest speed first; equal speeds leave in any order. A few entries wait in no order, where
// pushing and finding the lowest need no branch that could be mispredicted; when they become too many, they move to a
// heap.
class LinkQueue {
 public:
  struct Entry {
    std::int64_t from = 0;
    std::uint32_t link = 0;
  };

  bool empty() const { return count_ == 0 && heap_.empty(); }

  void push(const Entry& entry, bool wanted) {
    if (count_ == kFew) spill();
    few_[count_] = entry;
    count_ += wanted ? 1 : 0;
  }

  // Removes and returns the entry with the lowest speed; the queue must not be empty().
  Entry pop() {
    if (!heap_.empty()) return pop_of_both();
    return take(lowest());
  }

 private:
  static constexpr std::size_t kFew = 16;

  std::size_t lowest() const {
    std::int64_t lowest = few_[0].from;
    for (std::size_t k = 1; k < count_; ++k) lowest = std::min(lowest, few_[k].from);
    std::int64_t at = 0;
    for (std::size_t k = 1; k < count_; ++k) at = choose(few_[k].from == lowest, static_cast<std::int64_t>(k), at);
    return static_cast<std::size_t>(at);
  }

  Entry take(std::size_t at) {
    const Entry taken = few_[at];
    few_[at] = few_[--count_];
    return taken;
  }

  Entry pop_of_both() {
    const std::size_t at = lowest();
    if (count_ > 0 && few_[at].from < heap_.front().from) return take(at);
    std::pop_heap(heap_.begin(), heap_.end(), is_later);
    const Entry next = heap_.back();
    heap_.pop_back();
    return next;
  }

  void spill() {
    for (const Entry& entry : few_) {
      heap_.push_back(entry);
      std::push_heap(heap_.begin(), heap_.end(), is_later);
    }
    count_ = 0;
  }

  static bool is_later(const Entry& a, const Entry& b) { return a.from > b.from; }

  std::array<Entry, kFew> few_;
  std::size_t count_ = 0;
  std::vector<Entry> heap_;
};

}  // namespace mirfak
