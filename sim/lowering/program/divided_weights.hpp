#pragma once

#include "program/stage_plan.hpp"

#include <vector>

namespace mirfak {

// Weights that replicas divide among them (strategy.weight_shards and strategy.expert_weight_shards: Megatron Core's
// generalized tensor parallelism, NVIDIA/Megatron-LM d98e8a64, megatron/core/tensor_parallel/
// generalized_tensor_parallelism.py). Tables and operands of products are divided; norms, biases and what routes tokens
// to experts stay whole (docs/api-guide/core/generalized_tensor_parallel.md, section 1.5). Learned positions, which
// stay whole there, are taken to be divided.

// True if not all replicas hold a parameter: it is divided over mesh axes that replicate everything except experts.
bool is_of_experts(const PartitionedBlock& block, const ParameterShard& parameter);
// By TensorId: true for operands of products and of look-ups.
std::vector<bool> read_by_products(const OperatorGraph& graph);

// Counts the tensors of a block, and the elements that stay whole. `copies`: also parameters of other blocks.
TensorCounts count_divided(const PartitionedBlock& block, bool copies);
// Returns the weights that a pass of the block gathers on one rank, of the kinds that the strategy divides; also those
// that another block holds, too.
HeldParameters divided_weights(const Job& job, const PartitionedBlock& block);
// Returns those of them that the block's recomputation reads: each is gathered once more for it.
HeldParameters recomputed_weights(const Job& job, const PartitionedBlock& block);

// Returns the weights that one forward pass of each of a stage's chunks gathers on one rank.
HeldParameters divided_weights(const StageContents& stage);

// Returns the elements of the buffers of a stage's weights. Weights of the same name and size share a buffer, in all
// layers; embedding and head share one if their tables are as large.
HeldParameters buffers_of_weights(const Job& job, const ShardedBlocks& blocks, const std::vector<ChunkPlan>& chunks);

}  // namespace mirfak
