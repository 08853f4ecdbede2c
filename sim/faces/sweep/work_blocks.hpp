#pragma once

#include <cstdint>

namespace mirfak {

// A sweep's points in the order of simulation (SweepFile::point_at), cut into blocks: a block is the unit that a thread
// takes, that is kept or lost when a run is killed, and that is dealt to shards. The blocks depend on the number of
// points alone, so every run of a sweep cuts alike.
class WorkBlocks {
 public:
  // Requires 1 <= shard <= shards.
  WorkBlocks(std::uint64_t points, int shard, int shards);

  std::uint64_t count() const { return count_; }  // blocks of this shard
  // Return the positions [begin, end) of block `index` of the shard.
  std::uint64_t begin(std::uint64_t index) const { return global(index) * size_; }
  std::uint64_t end(std::uint64_t index) const;
  std::uint64_t points() const { return points_of_shard_; }

 private:
  // Deals blocks to shards in turn: neighboring blocks, which cost about as much, go to different shards.
  std::uint64_t global(std::uint64_t index) const { return index * shards_ + (shard_ - 1); }

  std::uint64_t points_;
  std::uint64_t shard_;
  std::uint64_t shards_;
  std::uint64_t size_;
  std::uint64_t count_ = 0;
  std::uint64_t points_of_shard_ = 0;
};

}  // namespace mirfak
