#pragma once

#include "sharding/sharding.hpp"

#include <cstdint>

namespace mirfak {

// What a task does, for who executes programs on real hardware: its price says only how long that should take.
struct TaskWork {
  enum class Kind : std::uint8_t {
    traffic,     // nothing but TaskClass::bytes through memory, or between the ends of a transfer
    block_step,  // a kernel or collective of a block
    collective,  // of the ranks that meet in front of it
  };
  Kind kind = Kind::traffic;

  // block_step: which. `step` counts the steps of the pass: of a forward pass PartitionedBlock::forward, of a backward
  // pass PartitionedBlock::recompute and then ::backward.
  std::int32_t block = -1;  // an index of ShardedBlocks::all
  std::int32_t step = -1;
  bool backward = false;

  // collective: what, and the bytes of the larger of the buffers before and after on one rank (see ReshardStep).
  CollectiveKind collective{};
  double buffer_bytes = 0;
};

inline TaskWork block_step_work(std::int32_t block, bool backward, std::int32_t step) {
  TaskWork work;
  work.kind = TaskWork::Kind::block_step;
  work.block = block;
  work.backward = backward;
  work.step = step;
  return work;
}

inline TaskWork collective_work(CollectiveKind kind, double buffer_bytes) {
  TaskWork work;
  work.kind = TaskWork::Kind::collective;
  work.collective = kind;
  work.buffer_bytes = buffer_bytes;
  return work;
}

}  // namespace mirfak
