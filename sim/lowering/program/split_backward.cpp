#include "program/split_backward.hpp"

#include <algorithm>

namespace mirfak {

namespace {

// Marks the operators whose results gradients of inputs need, in any phase.
std::vector<bool> needed_for_inputs(const OperatorGraph& graph) {
  std::vector<bool> needed(graph.operators.size(), false);
  std::vector<bool> tensors(graph.tensors.size(), false);
  for (std::size_t i = graph.operators.size(); i-- > 0;) {
    const Operator& op = graph.operators[i];
    const bool makes = std::any_of(op.outputs.begin(), op.outputs.end(), [&](const Operand& output) {
      return tensors[static_cast<std::size_t>(output.tensor)];
    });
    needed[i] = makes || op.phase == Phase::activation_gradient;
    if (!needed[i]) continue;
    for (const Operand& input : op.inputs) tensors[static_cast<std::size_t>(input.tensor)] = true;
  }
  return needed;
}

void keep_once(std::vector<int>& indices) {
  std::sort(indices.begin(), indices.end());
  indices.erase(std::unique(indices.begin(), indices.end()), indices.end());
}

}  // namespace

std::vector<bool> weight_steps(const PartitionedBlock& block) {
  const std::vector<bool> needed = needed_for_inputs(block.graph);
  std::vector<bool> out;
  for (const BlockStep& step : block.backward) {
    out.push_back(step.phase == Phase::weight_gradient && !needed[static_cast<std::size_t>(step.op)]);
  }
  return out;
}

SplitBody split_body(const PartitionedBlock& block, const Body& backward) {
  std::vector<bool> of_weights(block.recompute.size(), false);
  const std::vector<bool> steps = weight_steps(block);
  of_weights.insert(of_weights.end(), steps.begin(), steps.end());
  SplitBody out;
  std::vector<int> place(backward.steps.size());               // index in its half
  std::vector<std::vector<int>> waits(backward.steps.size());  // steps of the other half that each step waits for
  for (std::size_t i = 0; i < backward.steps.size(); ++i) {
    const bool weights = of_weights[i];
    Body& half = weights ? out.weights : out.inputs;
    BodyStep step = backward.steps[i];
    std::vector<int>& waiting = waits[i];
    std::vector<int> after;  // indices into the whole body
    for (const int before : step.after) {
      const auto index = static_cast<std::size_t>(before);
      if (of_weights[index] == weights) {
        after.push_back(before);
      } else {
        after.insert(after.end(), waits[index].begin(), waits[index].end());
      }
    }
    keep_once(after);
    // Steps of the other half that this step waits for, directly or through steps of its own half. They stand for this
    // step in the other half.
    for (const int before : step.after) {
      const auto index = static_cast<std::size_t>(before);
      if (of_weights[index] != weights) {
        waiting.push_back(before);
      } else {
        waiting.insert(waiting.end(), waits[index].begin(), waits[index].end());
      }
    }
    keep_once(waiting);  // else every path to a step counts, and the number of paths doubles at each branch
    step.after.clear();
    for (const int before : after) step.after.push_back(place[static_cast<std::size_t>(before)]);
    place[i] = static_cast<int>(half.steps.size());
    half.steps.push_back(std::move(step));
    (weights ? out.weight_steps : out.input_steps).push_back(static_cast<int>(i));
  }
  return out;
}

}  // namespace mirfak
