#pragma once

#include "model/blocks.hpp"
#include "sharding/partition.hpp"
#include "strategy/strategy.hpp"

#include <string>
#include <vector>

namespace mirfak::test {

// A GPT of 3 layers with b = 2, s = 64, a = 8 heads of 16, h = 128: small enough to check by hand.
ModelSpec small_gpt();
BlockOptions options_for(const ModelSpec& model, const Strategy& strategy);

// A layer of `model`, sharded; 16-bit, dropout, unfused attention unless said otherwise.
PartitionedBlock sharded_layer(const ModelSpec& model, const Strategy& strategy, bool fused_attention = false);

// The blocks of a model as a strategy runs them, with gradient operators, before they are sharded.
std::vector<OperatorGraph> blocks_of(const ModelSpec& model, const Strategy& strategy, bool fused);

// The steps in words, for comparison.
std::vector<std::string> step_texts(const PartitionedBlock& block, const std::vector<BlockStep>& steps);

// s b h of one device, b the sequences of a microbatch.
inline double sbh(const ModelSpec& model, const BlockOptions& options, const Strategy& strategy) {
  const std::int64_t sequences = options.batch / strategy.data;
  return static_cast<double>(options.sequence * sequences * model.hidden);
}

// The extent of an axis in a step's operator, on one device.
inline std::int64_t local(const PartitionedBlock& block, const BlockStep& step, std::string_view axis) {
  return step.local[index_of(block.graph.axis(axis))];
}

}  // namespace mirfak::test
