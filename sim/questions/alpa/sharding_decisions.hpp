#pragma once

#include "graph/operator_graph.hpp"
#include "sharding/device_mesh.hpp"
#include "sharding/sharding_plan.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace mirfak::alpa {

// Time at which the devices that hold partial sums of a parameter's gradient add them up, and place where the parameter
// is stepped.
enum class Reduction {
  whole,       // all-reduced once an iteration: every device steps its copy
  scattered,   // reduce-scattered once an iteration, stepped in shards, gathered again: the optimizer state is divided
  every_pass,  // reduce-scattered after every microbatch: the gradients are divided too
};

// Mesh axes that may divide the axes of each parallelism (AxisInfo::divided_by); axes of a parallelism left out stay
// whole.
using AxisDivision = std::map<Parallelism, MeshAxisSet>;

// Divisions that a strategy can express: mesh axes that may divide the axes of each parallelism.
struct DivisionRules {
  AxisDivision operators;  // for operators that decide for themselves
  AxisDivision tensors;
};

// Limits of the decisions of a graph, and what is left out of them (section 4.2 of arXiv 2201.12023: trivial operators
// follow).
struct DecisionOptions {
  // True: gradient operators divide their labels as their forward operators do, and gradients lie as their tensors.
  // False: all of them decide for themselves.
  bool gradients_follow = true;
  // True: any axis may be divided. False: any axis of parameters, but only the axes of activations that a parallelism
  // divides (AxisInfo::divided_by).
  bool every_axis = false;
  // True: streams leave the block as they enter it, because the block is one of a row of equal blocks.
  bool repeats = false;
  // Sharding of streams; nullopt: the best one. Streams that cannot lie in this way leave a decision without choices.
  std::optional<Sharding> stream;
  // Sharding of streams by parallelism: every axis of a stream is divided by all mesh axes of its parallelism that its
  // size allows, and by no other.
  std::optional<AxisDivision> streams_divided;
  std::optional<DivisionRules> rules;  // nullopt: any mesh axis may divide any axis
  bool divides_state = true;           // parameters may have any Reduction, not only `whole`
  bool many_passes = false;            // several microbatches: `every_pass` differs from `scattered`
};

// A decision on how some axes are divided, for every operator and tensor that follows it.
struct ShardingDecision {
  std::string name;
  std::vector<LabelSharding> choices;
  std::vector<Reduction> reductions;  // for trained parameters: by choice
};

// Decisions on how each operator divides its labels and how each tensor lies.
//
//   products, attention, gathers, scans, ...   decide for themselves
//   elementwise operators, norms, reductions   follow the tensor that they write or, if it is smaller, the largest that
//                                              they read
//   tensors                                    one decision for all tensors that such operators join and that may be
//                                              divided along the same axes
//   parameters                                 each for itself: any of its axes, and how its gradient is reduced; small
//                                              ones (biases, norms) as the activations next to them, reduced whole
//   gradients of parameters                    lie as their operator leaves them, until they are reduced
struct ShardingDecisions {
  std::vector<ShardingDecision> decisions;
  std::vector<int> of_operator;              // by OperatorId
  std::vector<int> of_tensor;                // by TensorId
  std::vector<std::vector<Axis>> dividable;  // by OperatorId: the labels that the operator may divide

  LabelSharding labels(const OperatorGraph& graph, OperatorId op, int choice) const;
  Sharding sharding(const OperatorGraph& graph, TensorId tensor, int choice) const;
};

ShardingDecisions sharding_decisions(const OperatorGraph& graph, const DeviceMesh& mesh,
                                     const DecisionOptions& options);

// Returns true if `op` makes a parameter's gradient of a microbatch; the kernel that adds it to earlier gradients makes
// none.
bool makes_parameter_gradient(const OperatorGraph& graph, const Operator& op, const Operand& output);

}  // namespace mirfak::alpa
