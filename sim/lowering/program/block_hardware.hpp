#pragma once

#include "program/job.hpp"

#include <compare>

namespace mirfak {

// Properties of a job's blocks that depend on the GPUs of the job's cluster: one program runs on all stages. Jobs with
// equal properties, and equal in everything else that blocks depend on, have the same blocks.
struct BlockHardware {
  explicit BlockHardware(const Job& job);

  bool fused_attention = false;  // the framework fuses attention, and every GPU has such a kernel
  bool one_layout = false;       // some GPU multiplies narrow operands of one layout only

  friend auto operator<=>(const BlockHardware&, const BlockHardware&) = default;
};

}  // namespace mirfak
