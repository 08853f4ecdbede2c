#pragma once

#include <cstdint>

namespace mirfak {

// A sweep's points in the order in which they are simulated (SweepFile::point_at), cut into blocks: what a thread takes
// at a time, what is kept or lost when a run is killed, and what shards are dealt. Decided by the number of points
// alone, so every run of a sweep cuts alike.
class WorkBlocks {
 public:
  // 1 <= shard <= shards
  WorkBlocks(std::uint64_t points, int shard, int shards);

  std::uint64_t count() const { return count_; }  // of this shard
  // Block `index` of the shard: positions [begin, end).
  std::uint64_t begin(std::uint64_t index) const { return global(index) * size_; }
  std::uint64_t end(std::uint64_t index) const;
  std::uint64_t points() const { return points_of_shard_; }

 private:
  // Dealt like cards: neighbouring blocks, which are as costly as each other, go to different shards.
  std::uint64_t global(std::uint64_t index) const { return index * shards_ + (shard_ - 1); }

  std::uint64_t points_;
  std::uint64_t shard_;
  std::uint64_t shards_;
  std::uint64_t size_;
  std::uint64_t count_ = 0;
  std::uint64_t points_of_shard_ = 0;
};

}  // namespace mirfak
