// Views, splits and concatenations. An element of an operand stands at one place of a result: in a view at the same
// number, counted row by row; in a split or a concatenation at the same place of all labels that both have, and within
// its part of the axis that lies side by side.

#include "kernels.hpp"

#include "base/error.hpp"

namespace mirfak::interpreter::kinds {

namespace {

bool is_split(const Operator& op) { return op.kind == OperatorKind::view && op.function == "split"; }
bool is_concatenation(const Operator& op) { return op.function == "concat"; }

// The axis along which parts lie side by side: a label of the whole that no part has.
Axis axis_of_parts(const Operand& whole, const std::vector<Operand>& parts) {
  for (const Axis label : whole.labels) {
    bool anywhere = false;
    for (const Operand& part : parts) anywhere = anywhere || part.labels.contains(label);
    if (!anywhere) return label;
  }
  fail_internal("parts have every axis of the whole");
}

std::vector<Axis> own_labels(const Operand& part, const Operand& whole) {
  return without(labels_of(part), labels_of(whole));
}

std::int64_t width(const OperatorGraph& graph, const std::vector<Axis>& labels) {
  std::int64_t out = 1;
  for (const Axis label : labels) out *= graph.extent(label);
  return out;
}

void set_from_number(const OperatorGraph& graph, std::span<const Axis> labels, std::uint64_t number, Position& at) {
  for (std::size_t i = labels.size(); i-- > 0;) {
    const auto extent = static_cast<std::uint64_t>(graph.extent(labels[i]));
    at[labels[i]] = static_cast<std::int64_t>(number % extent);
    number /= extent;
  }
}

// Calls visit(position) for all places of an operand and a result that are the same element, within the ranges.
template <typename Visit>
void for_each_moved(const OperatorGraph& graph, const Operator& op, std::size_t input, std::size_t output,
                    const Ranges& ranges, const Visit& visit) {
  const Operand& from = op.inputs[input];
  const Operand& to = op.outputs[output];
  Position at;
  const auto within = [&](const Operand& operand) {
    for (const Axis label : operand.labels) {
      if (!ranges[index_of(label)].contains(at[label])) return false;
    }
    return true;
  };
  if (!is_split(op) && !is_concatenation(op)) {
    for_each(labels_of(from), ranges, at, [&] {
      set_from_number(graph, labels_of(to), flat(graph, labels_of(from), at), at);
      if (within(to)) visit(at);
    });
    return;
  }
  const bool split = is_split(op);
  const Operand& whole = split ? from : to;
  const std::vector<Operand>& parts = split ? op.outputs : op.inputs;
  const std::size_t index = split ? output : input;
  const Axis side_by_side = axis_of_parts(whole, parts);
  std::int64_t before = 0;
  for (std::size_t i = 0; i < index; ++i) before += width(graph, own_labels(parts[i], whole));
  const std::vector<Axis> own = own_labels(parts[index], whole);
  std::vector<Axis> labels = labels_of(whole);
  std::erase(labels, side_by_side);  // those that the part lacks are repeated
  labels.insert(labels.end(), own.begin(), own.end());
  for_each(labels, ranges, at, [&] {
    at[side_by_side] = before + static_cast<std::int64_t>(flat(graph, own, at));
    if (within(whole)) visit(at);
  });
}

}  // namespace

bool moves(const Operator& op) { return op.kind == OperatorKind::view || is_concatenation(op); }

std::vector<Piece> move(const OperatorGraph& graph, const Operator& op, const Ranges& ranges, const Pieces& inputs) {
  std::vector<Piece> out = zeros(graph, op.outputs, ranges);
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    const Access from(graph, op.inputs[i], *inputs[i]);
    for (std::size_t o = 0; o < op.outputs.size(); ++o) {
      const Access to(graph, op.outputs[o], out[o]);
      for_each_moved(graph, op, i, o, ranges,
                     [&](const Position& at) { out[o].values[to.offset(at)] += from.read(at); });
    }
  }
  return out;
}

Piece move_gradient(const Reverse& reverse, std::size_t operand) {
  const Operator& op = reverse.op;
  Piece out(box_of(reverse.graph, op.inputs[operand], reverse.ranges));
  const Access to(reverse.graph, op.inputs[operand], out);
  for (std::size_t o = 0; o < op.outputs.size(); ++o) {
    if (reverse.output_gradients[o] == nullptr) continue;
    const Access from(reverse.graph, op.outputs[o], *reverse.output_gradients[o]);
    for_each_moved(reverse.graph, op, operand, o, reverse.ranges,
                   [&](const Position& at) { out.values[to.offset(at)] += from.read(at); });
  }
  return out;
}

}  // namespace mirfak::interpreter::kinds
