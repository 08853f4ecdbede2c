#pragma once

#include "cluster/hardware.hpp"
#include "program/job.hpp"
#include "program/stage_plan.hpp"
#include "sharding/partition.hpp"

#include <vector>

namespace mirfak {

// Activations that wait in the host's memory between forward and backward (Strategy::offload_modules): what all forward
// operators that need a tensor again belong to, if these are chosen modules and the tensor is large enough
// (OffloadHabits::module_elements). Example: what the core of attention makes is read again by attention and by the
// projection behind it, so it waits there if both are chosen.
std::vector<TensorId> offloaded_tensors(const Job& job, const PartitionedBlock& block, const DeviceMesh& mesh);
// Bytes of these tensors on one device, for one microbatch.
double offloaded_activation_bytes(const Job& job, const PartitionedBlock& block, const DeviceMesh& mesh);

// Bytes of the activations that a rank copies to its host in a forward pass of a chunk, and back in its backward pass:
// those of modules, and all that the first layers keep (Strategy::offload_layers).
double copied_activation_bytes(const Job& job, const ShardedBlocks& blocks, const ChunkPlan& chunk);
// Layers of a chunk, among `count` equal blocks from `first` on, whose kept activations all wait there.
int offloaded_layers(const Job& job, const ChunkPlan& chunk, int first, int count);

// Seconds that a pass of `device_s` waits for such copies. They run beside its kernels, to the host in forward passes
// and back in backward passes, and a pass is no shorter than they are.
double wait_for_copies_s(const Job& job, const ShardedBlocks& blocks, const ChunkPlan& chunk, const NodeHardware& node,
                         double device_s);

}  // namespace mirfak
