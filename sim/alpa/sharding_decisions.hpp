#pragma once

#include "graph/operator_graph.hpp"
#include "sharding/device_mesh.hpp"
#include "sharding/sharding_plan.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace mirfak::alpa {

// When the devices that hold partial sums of a parameter's gradient add them up, and where the parameter is stepped.
enum class Reduction {
  whole,       // all-reduced once an iteration: every device steps its copy
  scattered,   // reduce-scattered once an iteration, stepped in shards, gathered again: the optimizer state is divided
  every_pass,  // reduce-scattered after every microbatch, so that the gradients are divided too
};

// The mesh axes that may divide axes of each parallelism (AxisInfo::divided_by); those that are left out stay whole.
using AxisDivision = std::map<Parallelism, MeshAxisSet>;

// What a strategy can express: which mesh axes may divide which axes.
struct DivisionRules {
  AxisDivision operators;  // that decide for themselves
  AxisDivision tensors;
};

// What may be decided of a graph, and what is left out (section 4.2 of arXiv 2201.12023: trivial operators follow).
struct DecisionOptions {
  // Gradient operators divide their labels as the operators they belong to, gradients lie as their tensors. False: all
  // of them decide for themselves.
  bool gradients_follow = true;
  // Divide any axis; false: of activations those that a parallelism divides (AxisInfo::divided_by), of parameters any.
  bool every_axis = false;
  // Streams leave the block as they enter it: the block stands behind others like it.
  bool repeats = false;
  // How streams lie; nullopt: as is best. Streams that cannot lie so leave a decision without choices.
  std::optional<Sharding> stream;
  // ... or by parallelism: every axis of a stream is divided by all of these that its size allows, and by no other.
  std::optional<AxisDivision> streams_divided;
  std::optional<DivisionRules> rules;  // nullopt: any mesh axis may divide any axis
  bool divides_state = true;           // Reduction other than `whole`
  bool many_passes = false;            // several microbatches: `every_pass` differs from `scattered`
};

// One choice of how some axes are divided, for every operator and tensor that follows it.
struct ShardingDecision {
  std::string name;
  std::vector<LabelSharding> choices;
  std::vector<Reduction> reductions;  // of trained parameters: by choice
};

// Who decides how each operator divides its labels and how each tensor lies.
//
//   products, attention, gathers, scans, ...   decide for themselves
//   elementwise operators, norms, reductions   follow the tensor that they write, or read if that is smaller
//   tensors                                    one decision for all that such operators join and that may be divided
//                                              along the same axes
//   parameters                                 each for itself: any of its axes, and how its gradient is reduced; small
//                                              ones (biases, norms) as the activations beside them, reduced whole
//   gradients of parameters                    lie as their operator leaves them, until they are reduced
struct ShardingDecisions {
  std::vector<ShardingDecision> decisions;
  std::vector<int> of_operator;              // by OperatorId
  std::vector<int> of_tensor;                // by TensorId
  std::vector<std::vector<Axis>> dividable;  // by OperatorId: the labels that it may divide

  LabelSharding labels(const OperatorGraph& graph, OperatorId op, int choice) const;
  Sharding sharding(const OperatorGraph& graph, TensorId tensor, int choice) const;
};

ShardingDecisions sharding_decisions(const OperatorGraph& graph, const DeviceMesh& mesh,
                                     const DecisionOptions& options);

// The operator that makes a parameter's gradient of a microbatch; the kernel that adds it to those before makes none.
bool makes_parameter_gradient(const OperatorGraph& graph, const Operator& op, const Operand& output);

}  // namespace mirfak::alpa
