#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <limits>
#include <vector>

namespace mirfak {

// PyTorch's caching allocator (c10/cuda/CUDACachingAllocator.cpp, PyTorch 2.x, default settings) on one device and
// stream: what a sequence of requests reserves. The rules are those of sim/faces/python/mirfak/capture/allocator.py:
//
//   request           rounded to  segment taken from the driver
//   up to 1 MiB       512 B       2 MiB, of the small pool
//   below 10 MiB      512 B       20 MiB, of the large pool
//   from 10 MiB       512 B       rounded up to 2 MiB
//
// A request gets the smallest free block that fits, the lowest address first. A block is split where 512 B (small pool)
// or more than 1 MiB (large pool) are left; a free block joins its free neighbours. Where the device has no more to
// give, segments without a block in use go back to it first.
class CachingAllocator {
 public:
  using Block = std::int32_t;

  // `expandable`: each pool is one segment that grows at its end, by pages of 2 or 20 MiB, and whose blocks are split
  // like small ones (expandable_segments:True). `capacity`: bytes that the device has to give.
  explicit CachingAllocator(bool expandable = false, double capacity = std::numeric_limits<double>::infinity())
      : expandable_(expandable), capacity_(capacity) {}

  Block allocate(double bytes);  // at least 0 bytes, which take as much as 1
  void free(Block block);        // a block in use
  void pass(double bytes);       // allocates bytes and frees them again

  std::int64_t allocated() const { return allocated_; }            // bytes of blocks in use
  std::int64_t peak_allocated() const { return peak_allocated_; }  // the most at any time
  std::int64_t reserved() const { return reserved_; }              // bytes of all segments
  std::int64_t peak_reserved() const { return peak_reserved_; }    // the most at any time
  // Bytes that a device must have, the most at any time: segments without what can go back to it. A device that has
  // less runs out of memory, and is taken to have more all the same.
  std::int64_t needed() const { return std::max(needed_, peak_allocated_); }

 private:
  struct Part {
    std::int64_t size = 0;
    std::int64_t address = 0;  // segments lie in the order in which they were taken
    Block before = -1;         // neighbours in the segment
    Block after = -1;
    bool small = false;
    bool free = false;
  };
  // The order in which free blocks are searched. Few blocks are free at once, so a sorted list is faster than a tree.
  struct Key {
    std::int64_t size = 0;
    std::int64_t address = 0;
    Block block = -1;
    friend auto operator<=>(const Key&, const Key&) = default;
  };

  Part& part(Block block) { return parts_[static_cast<std::size_t>(block)]; }
  using Pool = std::vector<Key>;  // free blocks in their order
  Pool& pool(bool small) { return small ? small_ : large_; }
  Key key_of(Block block) { return {part(block).size, part(block).address, block}; }
  Pool::iterator smallest_of(std::int64_t size, bool small);
  bool splits(const Part& whole, std::int64_t size) const;
  void put_back(Block block);
  void take(Block block);
  Block add_part(const Part& made);
  Block new_segment(std::int64_t size, bool small);
  Block grown_segment(std::int64_t size, bool small);
  std::int64_t can_go_back(const Part& free) const;
  void reserve(std::int64_t size);
  void give_back();
  void split(Block block, std::int64_t size);
  void join_after(Block block);

  bool expandable_ = false;
  double capacity_ = 0;
  std::vector<Part> parts_;
  std::vector<Block> unused_;  // places in parts_ of blocks that joined others
  Pool small_, large_;
  Block last_small_ = -1, last_large_ = -1;  // last blocks of segments that grow
  std::int64_t next_address_ = 0;
  std::int64_t allocated_ = 0;
  std::int64_t peak_allocated_ = 0;
  std::int64_t reserved_ = 0;
  std::int64_t peak_reserved_ = 0;
  std::int64_t can_go_back_ = 0;  // bytes of free blocks that the device can have back
  std::int64_t needed_ = 0;
};

}  // namespace mirfak
