#pragma once

#include "program/kernel_work.hpp"
#include "sharding/sharding.hpp"

#include <variant>

namespace mirfak {

// What a task does, for who executes programs on real hardware, or explains them: its price says only how long that
// should take. Nothing here refers to anything outside.

// Of the ranks of the task's group.
struct CollectiveWork {
  CollectiveKind kind{};
  double bytes = 0;  // of the larger of the buffers before and after on one rank (see ReshardStep), all pieces together
  int pieces = 1;    // collectives that the bytes are spread over
  Precision precision = Precision::fp32;  // of the numbers in it
};

// From some ranks of the task's group, of one stage, to the others, of another: each sends each a message.
struct TransferWork {
  double bytes = 0;  // of a message
  int from = 0;      // the stage that sends
  int senders = 1;   // of a group, on the cluster: more than stand in a folded program
  int receivers = 1;
  double gathered_bytes = 0;  // what the receiver's tensor ranks then make whole of their parts; 0: each has it all
  Precision precision = Precision::fp32;
};

// monostate: nothing that an executor has to do (the host's work, meetings in front of a collective), or what it cannot
// do in one piece (a pass as one task).
using TaskWork = std::variant<std::monostate, KernelWork, CollectiveWork, TransferWork>;

}  // namespace mirfak
