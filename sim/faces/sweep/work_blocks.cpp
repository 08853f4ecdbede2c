#include "sweep/work_blocks.hpp"

#include <algorithm>

namespace mirfak {

namespace {

constexpr std::uint64_t kBlocks = 1024;    // at least, if there are as many points
constexpr std::uint64_t kMaxPoints = 256;  // points of a block

}  // namespace

WorkBlocks::WorkBlocks(std::uint64_t points, int shard, int shards)
    : points_(points),
      shard_(static_cast<std::uint64_t>(shard)),
      shards_(static_cast<std::uint64_t>(shards)),
      size_(std::clamp<std::uint64_t>(points / kBlocks, 1, kMaxPoints)) {
  const std::uint64_t blocks = (points + size_ - 1) / size_;
  count_ = blocks / shards_ + (shard_ <= blocks % shards_ ? 1 : 0);
  points_of_shard_ = count_ == 0 ? 0 : (count_ - 1) * size_ + (end(count_ - 1) - begin(count_ - 1));
}

std::uint64_t WorkBlocks::end(std::uint64_t index) const { return std::min(points_, begin(index) + size_); }

}  // namespace mirfak
