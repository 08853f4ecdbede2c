#pragma once

#include "cluster/hardware.hpp"
#include "program/job.hpp"
#include "program/stage_plan.hpp"

namespace mirfak {

// Seconds of the steps that the offloaded share of one rank's optimizer takes after the gradients are complete.
struct OffloadedStep {
  double gradients_s = 0;   // copying gradients to the host
  double update_s = 0;      // updating the parameters there, in parallel with the node's other ranks
  double parameters_s = 0;  // copying parameters back
  double read_s = 0;        // reading state from the host's disks
  double write_s = 0;       // writing it back
  double pieces = 1;        // number of pieces that go through these steps one after the other

  // Time of equal pieces in a pipeline of stations: the first passes all of them, the others follow at the pace of the
  // slowest station.
  double seconds() const;
};

// Returns the times for `parameters` on a node; zeros without Strategy::offload_optimizer. Error(input) if the node's
// profile has no host_memory_bandwidth.
OffloadedStep offloaded_step(const Job& job, const StageParameters& parameters, const NodeHardware& node);

// Bytes that one rank keeps in the memory of its host: of the optimizer's state, of a stage's parameters where their
// shards lie there (Strategy::offload_parameters; parameters that are fp32 masters are part of the state), of all,
// with the state of an outer optimizer that lies there (outer_state.hpp).
double offloaded_bytes(const Job& job, const HeldParameters& held);
double offloaded_parameter_bytes(const Job& job, const StageParameters& parameters);
double bytes_on_host(const Job& job, const StageParameters& parameters);
// Bytes that one rank keeps on the disks of its host, and of that those of parameters, which each gather reads.
double bytes_on_disk(const Job& job, const StageParameters& parameters);
double parameter_bytes_on_disk(const Job& job, const StageParameters& parameters);
// Seconds in which a rank reads bytes from disks that the ranks of its node share. The node must state their rate.
double disk_read_seconds(double bytes, const NodeSpec& node);
// Seconds of a copy between a rank's device and its host over the device's own link.
double host_copy_seconds(double bytes, const NodeHardware& node);
// A rank's share of the host's memory.
double host_memory_share(const NodeSpec& node);

}  // namespace mirfak
