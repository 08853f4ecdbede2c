#pragma once

#include "program/kernel_work.hpp"
#include "sharding/sharding.hpp"

#include <variant>

namespace mirfak {

// Work of a task, for programs that run it on real hardware or explain it: its price only says how long that should
// take. Nothing here refers to objects elsewhere.

// A collective among the ranks of the task's group.
struct CollectiveWork {
  CollectiveKind kind{};
  double bytes = 0;  // size of the larger of one rank's buffers before and after (see ReshardStep), all pieces together
  int pieces = 1;    // collectives that the bytes are divided into
  Precision precision = Precision::fp32;  // precision of the numbers in it
};

// A transfer from some ranks of the task's group, of one stage, to the other ranks, of another stage: each sender sends
// a message to each receiver.
struct TransferWork {
  double bytes = 0;  // size of a message
  int from = 0;      // stage that sends
  int senders = 1;   // senders of a group on the cluster: more than there are in a folded program
  int receivers = 1;
  double gathered_bytes = 0;  // size of the whole that the receivers' tensor ranks gather from parts; 0: no gather
  Precision precision = Precision::fp32;
};

// Work of a task. monostate: an executor has nothing to do (the host's work, meetings before a collective), or cannot
// do it in one piece (a pass as one task).
using TaskWork = std::variant<std::monostate, KernelWork, CollectiveWork, TransferWork>;

}  // namespace mirfak
