#pragma once

#include "program/job.hpp"

#include <compare>

namespace mirfak {

// What the GPUs of a job's cluster decide about its blocks: one program runs on all stages. Jobs that agree in it, and
// in all else that blocks depend on, have the same blocks.
struct BlockHardware {
  explicit BlockHardware(const Job& job);

  bool fused_attention = false;  // the framework fuses it, and every GPU has such a kernel
  bool one_layout = false;       // some GPU multiplies narrow operands of one layout only

  friend auto operator<=>(const BlockHardware&, const BlockHardware&) = default;
};

}  // namespace mirfak
