#pragma once

#include "cluster/hardware.hpp"
#include "program/job.hpp"
#include "program/stage_plan.hpp"

namespace mirfak {

// What becomes of the offloaded share of one rank's optimizer when the gradients are complete, in seconds.
struct OffloadedStep {
  double gradients_s = 0;   // copied to the host
  double update_s = 0;      // of the parameters there, beside those of the node's other ranks
  double parameters_s = 0;  // copied back
  double pieces = 1;        // that go through the three one after the other

  // Equal pieces through three stations in a row: the first passes all three, the others follow at the slowest's pace.
  double seconds() const;
};

// Of parameters held so, on a node. Error(input) where the node's profile has no host_memory_bandwidth. Nothing without
// Strategy::offload_optimizer.
OffloadedStep offloaded_step(const Job& job, const StageParameters& parameters, const NodeHardware& node);

// What one rank keeps in the memory of its host.
double offloaded_bytes(const Job& job, const HeldParameters& held);
// A rank's share of that memory.
double host_memory_share(const NodeSpec& node);

}  // namespace mirfak
