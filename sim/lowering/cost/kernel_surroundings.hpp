#pragma once

#include "graph/operator_graph.hpp"
#include "sharding/partition.hpp"
#include "strategy/attention_copies.hpp"

#include <vector>

namespace mirfak {

// Work that a framework adds to a job's kernels: copies around fused attention (KernelHabits::attention_copies), and
// kernels that fill results before they are written (KernelHabits::fills_results).
struct KernelSurroundings {
  std::vector<AttentionCopies> copies;  // those for the job's generation of attention and its exchange of context ranks
  double context_ranks = 1;
  bool gathers_keys = false;  // context ranks gather all keys and values
  bool fills_linear = false;
  bool fills_normalization = false;
  bool fills_attention = false;
  bool fills_rotary = false;
  bool fills_copies = false;
  // Backward passes of attention sum the gradients of queries in a fixed order (AttentionShape::ordered).
  bool ordered_attention = false;

  friend bool operator==(const KernelSurroundings&, const KernelSurroundings&) = default;
};

// Traffic of the kernels around one kernel.
struct SurroundingTraffic {
  double copies = 0;   // bytes that copies read and write
  double kernels = 0;  // copies
  double filled = 0;   // bytes of results that are filled
};

// Returns the traffic around the kernel of a step.
SurroundingTraffic surrounding_traffic(const KernelSurroundings& around, const OperatorGraph& graph,
                                       const BlockStep& step);

}  // namespace mirfak
