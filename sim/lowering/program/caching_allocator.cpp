#include "program/caching_allocator.hpp"

#include <algorithm>
#include <cmath>

namespace mirfak {

namespace {

constexpr std::int64_t kMebibyte = std::int64_t{1} << 20;
constexpr std::int64_t kSmallest = 512;
constexpr std::int64_t kSmallRequest = kMebibyte;
constexpr std::int64_t kSmallSegment = 2 * kMebibyte;
constexpr std::int64_t kLargeSegment = 20 * kMebibyte;
constexpr std::int64_t kLargeRequest = 10 * kMebibyte;
constexpr std::int64_t kSegmentRounding = 2 * kMebibyte;
constexpr std::int64_t kFarApart = std::int64_t{1} << 50;  // between the addresses of two segments

std::int64_t rounded_up(std::int64_t size, std::int64_t to) { return (size + to - 1) / to * to; }

std::int64_t size_of(double bytes) {
  return std::max(kSmallest, rounded_up(static_cast<std::int64_t>(std::ceil(bytes)), kSmallest));
}

std::int64_t segment_of(std::int64_t size) {
  if (size <= kSmallRequest) return kSmallSegment;
  if (size < kLargeRequest) return kLargeSegment;
  return rounded_up(size, kSegmentRounding);
}

}  // namespace

CachingAllocator::Block CachingAllocator::add_part(const Part& made) {
  if (unused_.empty()) {
    parts_.push_back(made);
    return static_cast<Block>(parts_.size() - 1);
  }
  const Block block = unused_.back();
  unused_.pop_back();
  part(block) = made;
  return block;
}

// Returns what a free block gives back to the device: the whole segment, or whole pages of one that grows.
std::int64_t CachingAllocator::can_go_back(const Part& free) const {
  if (!expandable_) return free.before < 0 && free.after < 0 ? free.size : 0;
  const std::int64_t page = free.small ? kSmallSegment : kLargeSegment;
  return free.size / page * page;
}

void CachingAllocator::put_back(Block block) {
  part(block).free = true;
  can_go_back_ += can_go_back(part(block));
  const Key key = key_of(block);
  Pool& of = pool(part(block).small);
  of.insert(std::lower_bound(of.begin(), of.end(), key), key);
}

void CachingAllocator::take(Block block) {
  Pool& of = pool(part(block).small);
  of.erase(std::lower_bound(of.begin(), of.end(), key_of(block)));
  can_go_back_ -= can_go_back(part(block));
  part(block).free = false;
}

// Gives segments back that hold no block in use; of segments that grow, free pages at the end.
void CachingAllocator::give_back() {
  for (const bool small : {true, false}) {
    Block& last = small ? last_small_ : last_large_;
    if (expandable_) {
      if (last < 0 || !part(last).free) continue;
      const std::int64_t given = can_go_back(part(last));
      if (given == 0) continue;
      take(last);
      reserved_ -= given;
      part(last).size -= given;
      if (part(last).size > 0) {
        put_back(last);
        continue;
      }
      unused_.push_back(last);
      last = part(last).before;
      if (last >= 0) part(last).after = -1;
      continue;
    }
    for (auto free = pool(small).begin(); free != pool(small).end();) {
      const Part& of = part(free->block);
      if (can_go_back(of) == 0) {
        ++free;
        continue;
      }
      reserved_ -= of.size;
      can_go_back_ -= of.size;
      unused_.push_back(free->block);
      free = pool(small).erase(free);
    }
  }
}

void CachingAllocator::reserve(std::int64_t size) {
  if (static_cast<double>(reserved_ + size) > capacity_) give_back();
  reserved_ += size;
  needed_ = std::max(needed_, reserved_ - can_go_back_);
  peak_reserved_ = std::max(peak_reserved_, reserved_);
}

CachingAllocator::Block CachingAllocator::new_segment(std::int64_t size, bool small) {
  reserve(size);
  const Block block = add_part({size, next_address_, -1, -1, small, false});
  next_address_ += kFarApart;
  return block;
}

// Returns the last block of the pool's segment, free before or new, grown to the size at least.
CachingAllocator::Block CachingAllocator::grown_segment(std::int64_t size, bool small) {
  Block& last = small ? last_small_ : last_large_;
  const std::int64_t page = small ? kSmallSegment : kLargeSegment;
  if (last >= 0 && part(last).free) {
    take(last);
    const std::int64_t more = rounded_up(size - part(last).size, page);
    reserve(more);
    part(last).size += more;
    return last;
  }
  const std::int64_t taken = rounded_up(size, page);
  if (last < 0) return last = new_segment(taken, small);
  reserve(taken);
  const Block block = add_part({taken, part(last).address + part(last).size, last, -1, small, false});
  part(last).after = block;
  return last = block;
}

// Returns the smallest free block that fits, the lowest address first.
CachingAllocator::Pool::iterator CachingAllocator::smallest_of(std::int64_t size, bool small) {
  return std::lower_bound(pool(small).begin(), pool(small).end(), Key{size, -1, -1});
}

// Returns true if a request leaves so much of a block that the rest is a block of its own.
bool CachingAllocator::splits(const Part& whole, std::int64_t size) const {
  const std::int64_t left = whole.size - size;
  return whole.small || expandable_ ? left >= kSmallest : left > kMebibyte;
}

void CachingAllocator::split(Block block, std::int64_t size) {
  const Part whole = part(block);
  if (!splits(whole, size)) return;
  const Block rest = add_part({whole.size - size, whole.address + size, block, whole.after, whole.small, true});
  if (whole.after >= 0) part(whole.after).before = rest;
  part(block).size = size;
  part(block).after = rest;
  if (block == last_small_) last_small_ = rest;
  if (block == last_large_) last_large_ = rest;
  put_back(rest);
}

CachingAllocator::Block CachingAllocator::allocate(double bytes) {
  const std::int64_t size = size_of(bytes);
  const bool small = size <= kSmallRequest;
  const auto found = smallest_of(size, small);
  Block block = -1;
  if (found != pool(small).end()) {
    block = found->block;
    take(block);
  } else {
    block = expandable_ ? grown_segment(size, small) : new_segment(segment_of(size), small);
  }
  split(block, size);
  allocated_ += part(block).size;
  peak_allocated_ = std::max(peak_allocated_, allocated_);
  return block;
}

// A free block that fits is as it was once the bytes are freed.
void CachingAllocator::pass(double bytes) {
  const std::int64_t size = size_of(bytes);
  const bool small = size <= kSmallRequest;
  const auto found = smallest_of(size, small);
  if (found == pool(small).end()) return free(allocate(bytes));
  const Part& whole = part(found->block);
  peak_allocated_ = std::max(peak_allocated_, allocated_ + (splits(whole, size) ? size : whole.size));
}

// Joins the block after this one to it.
void CachingAllocator::join_after(Block block) {
  const Block after = part(block).after;
  part(block).size += part(after).size;
  part(block).after = part(after).after;
  if (part(block).after >= 0) part(part(block).after).before = block;
  if (after == last_small_) last_small_ = block;
  if (after == last_large_) last_large_ = block;
  unused_.push_back(after);
}

void CachingAllocator::free(Block block) {
  allocated_ -= part(block).size;
  if (const Block after = part(block).after; after >= 0 && part(after).free) {
    take(after);
    join_after(block);
  }
  if (const Block before = part(block).before; before >= 0 && part(before).free) {
    take(before);
    join_after(before);
    block = before;
  }
  put_back(block);
}

}  // namespace mirfak
