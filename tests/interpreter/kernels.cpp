#include "kernels.hpp"

#include "base/error.hpp"

#include <algorithm>
#include <limits>

namespace mirfak::interpreter {

const Piece& needed(const Reverse& reverse, const Pieces& pieces, std::size_t i, const char* what) {
  if (i < pieces.size() && pieces[i] != nullptr) return *pieces[i];
  fail_internal("the gradient of " + reverse.op.name + " reads " + what + ", which was not kept for it");
}

std::vector<Piece> zeros(const OperatorGraph& graph, const std::vector<Operand>& outputs, const Ranges& ranges) {
  std::vector<Piece> out;
  for (const Operand& output : outputs) out.emplace_back(box_of(graph, output, ranges));
  return out;
}

namespace kinds {

// A sum of products over all places of all labels. A result with windows (a gradient) is added to where they point.
std::vector<Piece> contract(const OperatorGraph& graph, const Operator& op, const Ranges& ranges,
                            const Pieces& inputs) {
  std::vector<Piece> out = zeros(graph, op.outputs, ranges);
  std::vector<Operand> operands = op.inputs;
  operands.push_back(op.outputs[0]);
  const Access a(graph, op.inputs[0], *inputs[0]);
  const Access b(graph, op.inputs[1], *inputs[1]);
  const Access y(graph, op.outputs[0], out[0]);
  Position at;
  for_each(all_labels(operands), ranges, at, [&] {
    const std::int64_t place = y.offset(at);
    if (place >= 0) out[0].values[place] += a.read(at) * b.read(at);
  });
  return out;
}

}  // namespace kinds

namespace {

// Rows of a table. A device that holds a part of the table leaves zeros where it has not the row.
std::vector<Piece> gather(const OperatorGraph& graph, const Operator& op, const Ranges& ranges, const Pieces& inputs) {
  std::vector<Piece> out = zeros(graph, op.outputs, ranges);
  const Access table(graph, op.inputs[0], *inputs[0]);
  const Access ids(graph, op.inputs[1], *inputs[1]);
  const Access rows(graph, op.outputs[0], out[0]);
  Position at;
  for_each(labels_of(op.outputs[0]), ranges, at, [&] {
    at[op.over[0]] = static_cast<std::int64_t>(ids.read(at));
    if (ranges[index_of(op.over[0])].contains(at[op.over[0]])) out[0].values[rows.offset(at)] = table.read(at);
  });
  return out;
}

// dy, ids -> the gradient of the table.
std::vector<Piece> scatter(const OperatorGraph& graph, const Operator& op, const Ranges& ranges, const Pieces& inputs) {
  std::vector<Piece> out = zeros(graph, op.outputs, ranges);
  const Access dy(graph, op.inputs[0], *inputs[0]);
  const Access ids(graph, op.inputs[1], *inputs[1]);
  const Access table(graph, op.outputs[0], out[0]);
  Position at;
  for_each(labels_of(op.inputs[0]), ranges, at, [&] {
    at[op.over[0]] = static_cast<std::int64_t>(ids.read(at));
    const std::int64_t place = table.offset(at);
    if (place >= 0) out[0].values[place] += dy.read(at);
  });
  return out;
}

double terms_of(const OperatorGraph& graph, const Operator& op) {
  double terms = 1;
  for (const Axis label : all_labels(std::span(op.inputs).first(1))) {
    if (!op.outputs[0].labels.contains(label)) terms *= static_cast<double>(graph.extent(label));
  }
  return terms;
}

// Each result combines the first operand over the labels that it lacks.
Piece reduced(const OperatorGraph& graph, const Operator& op, const Ranges& ranges, const Pieces& inputs,
              const Operand& output) {
  Piece out(box_of(graph, output, ranges));
  for (const Axis label : output.labels) {
    if (!holds(all_labels(std::span(op.inputs).first(1)), label)) {
      fail_internal(op.name + " sums " + graph.tensor(op.inputs[0].tensor).name + ", which has no axis " +
                    graph.info(label).name);
    }
  }
  const Access x(graph, op.inputs[0], *inputs[0]);
  const Access y(graph, output, out);
  const bool largest = op.function == "max" || op.function == "argmax";
  Piece maxima = out;
  if (largest) maxima.values.setConstant(-std::numeric_limits<double>::infinity());
  const double terms = op.function == "mean" ? terms_of(graph, op) : 1;
  Position at;
  for_each(all_labels(std::span(op.inputs).first(1)), ranges, at, [&] {
    const std::int64_t place = y.offset(at);
    const double value = x.read(at);
    if (!largest) out.values[place] += value / terms;
    if (!largest || value <= maxima.values[place]) return;
    maxima.values[place] = value;
    const std::vector<Axis> over = without(all_labels(std::span(op.inputs).first(1)), labels_of(output));
    if (op.function == "argmax") out.values[place] = static_cast<double>(flat(graph, over, at));
  });
  return op.function == "max" ? maxima : out;
}

std::vector<Piece> reduction(const OperatorGraph& graph, const Operator& op, const Ranges& ranges,
                             const Pieces& inputs) {
  const std::vector<std::string> known = {"", "sum", "mean", "max", "argmax"};
  if (std::find(known.begin(), known.end(), op.function) == known.end()) {
    fail_internal("the interpreter knows no reduction '" + op.function + "'");
  }
  std::vector<Piece> out;
  for (const Operand& output : op.outputs) out.push_back(reduced(graph, op, ranges, inputs, output));
  return out;
}

// The label of weights that says the expert: it has no place among the weights of rows.
Axis candidates_of(const Operator& op) { return without(labels_of(op.inputs[1]), labels_of(op.outputs[1])).front(); }

// A row exists where the token's weight for the expert is not zero.
std::vector<Piece> dispatch(const OperatorGraph& graph, const Operator& op, const Ranges& ranges,
                            const Pieces& inputs) {
  std::vector<Piece> out = zeros(graph, op.outputs, ranges);
  const Access x(graph, op.inputs[0], *inputs[0]);
  const Access weights(graph, op.inputs[1], *inputs[1]);
  const Access rows(graph, op.outputs[0], out[0]);
  const Access row_weights(graph, op.outputs[1], out[1]);
  const Axis candidates = candidates_of(op);
  Position at;
  for_each(labels_of(op.outputs[0]), ranges, at, [&] {
    at[candidates] = at[op.over[0]];
    if (weights.read(at) != 0) out[0].values[rows.offset(at)] = x.read(at);
  });
  for_each(labels_of(op.outputs[1]), ranges, at, [&] {
    at[candidates] = at[op.over[0]];
    out[1].values[row_weights.offset(at)] = weights.read(at);
  });
  return out;
}

// Nothing of the choice is kept: gradients of rows that do not exist are zero.
Piece dispatch_gradient(const Reverse& reverse, std::size_t operand) {
  const Operator& op = reverse.op;
  Piece out(box_of(reverse.graph, op.inputs[operand], reverse.ranges));
  const Access dy(reverse.graph, op.outputs[operand],
                  needed(reverse, reverse.output_gradients, operand, "the gradient of its rows"));
  const Access to(reverse.graph, op.inputs[operand], out);
  const Axis candidates = candidates_of(op);
  Position at;
  for_each(labels_of(op.outputs[operand]), reverse.ranges, at, [&] {
    at[candidates] = at[op.over[0]];
    const std::int64_t place = to.offset(at);
    if (place >= 0) out.values[place] += dy.read(at);
  });
  return out;
}

std::vector<Piece> combine(const OperatorGraph& graph, const Operator& op, const Ranges& ranges, const Pieces& inputs) {
  std::vector<Piece> out = zeros(graph, op.outputs, ranges);
  const Access rows(graph, op.inputs[0], *inputs[0]);
  const Access y(graph, op.outputs[0], out[0]);
  Position at;
  for_each(labels_of(op.inputs[0]), ranges, at, [&] { out[0].values[y.offset(at)] += rows.read(at); });
  return out;
}

// The gradient of a combination over labels that the result lacks: spread over them.
Piece spread(const Reverse& reverse) {
  const Operator& op = reverse.op;
  Piece out(box_of(reverse.graph, op.inputs[0], reverse.ranges));
  const Access dy(reverse.graph, op.outputs[0], needed(reverse, reverse.output_gradients, 0, "the gradient"));
  const Access dx(reverse.graph, op.inputs[0], out);
  const bool largest = op.function == "max";
  const double terms = op.function == "mean" ? terms_of(reverse.graph, op) : 1;
  Position at;
  for_each(all_labels(std::span(op.inputs).first(1)), reverse.ranges, at, [&] {
    if (largest) {
      const Access x(reverse.graph, op.inputs[0], needed(reverse, reverse.inputs, 0, "its operand"));
      const Access y(reverse.graph, op.outputs[0], needed(reverse, reverse.outputs, 0, "its result"));
      if (x.read(at) != y.read(at)) return;
    }
    const std::int64_t place = dx.offset(at);
    if (place >= 0) out.values[place] += dy.read(at) / terms;
  });
  return out;
}

// Multiplies as the forward pass does: with the other operand, moved by the windows.
Piece convolution_gradient(const Reverse& reverse, std::size_t operand) {
  Operator product = reverse.op;
  product.inputs = {reverse.op.outputs[0], reverse.op.inputs[1 - operand]};
  product.outputs = {reverse.op.inputs[operand]};
  const Pieces inputs = {&needed(reverse, reverse.output_gradients, 0, "the gradient"),
                         &needed(reverse, reverse.inputs, 1 - operand, "its other operand")};
  return kinds::contract(reverse.graph, product, reverse.ranges, inputs).front();
}

bool is_convolution(const Operator& op) { return op.function == "depthwise_convolution"; }

}  // namespace

std::vector<Piece> compute(const OperatorGraph& graph, const Operator& op, const Ranges& ranges, const Pieces& inputs) {
  switch (op.kind) {
    case OperatorKind::einsum:
      return kinds::contract(graph, op, ranges, inputs);
    case OperatorKind::attention:
      return kinds::attention(graph, op, ranges, inputs);
    case OperatorKind::elementwise:
      if (kinds::moves(op)) return kinds::move(graph, op, ranges, inputs);
      if (is_convolution(op)) return kinds::contract(graph, op, ranges, inputs);
      if (op.function == "route") return kinds::route(graph, op, ranges, inputs);
      return kinds::elementwise(graph, op, ranges, inputs);
    case OperatorKind::normalization:
      return kinds::normalization(graph, op, ranges, inputs);
    case OperatorKind::softmax:
      return kinds::softmax(graph, op, ranges, inputs);
    case OperatorKind::gather:
      return gather(graph, op, ranges, inputs);
    case OperatorKind::scatter:
      return scatter(graph, op, ranges, inputs);
    case OperatorKind::cross_entropy:
      return kinds::cross_entropy(graph, op, ranges, inputs);
    case OperatorKind::reduction:
      return reduction(graph, op, ranges, inputs);
    case OperatorKind::dispatch:
      return dispatch(graph, op, ranges, inputs);
    case OperatorKind::combine:
      return combine(graph, op, ranges, inputs);
    case OperatorKind::view:
      return kinds::move(graph, op, ranges, inputs);
    case OperatorKind::scan:
      return kinds::scan(graph, op, ranges, inputs);
    case OperatorKind::custom:
      break;
  }
  fail_internal("what a custom kernel computes, nothing says (operator " + op.name + ")");
}

Piece gradient_of_decay(const Reverse& scan) {
  constexpr std::size_t kStep = 1;
  constexpr std::size_t kDecay = 4;
  return kinds::scan_gradient(scan, kDecay, scan.op.inputs[kStep]);
}

Piece gradient_of_input(const Reverse& reverse, std::size_t operand) {
  const Operator& op = reverse.op;
  switch (op.kind) {
    case OperatorKind::attention:
      return kinds::attention_gradient(reverse, operand);
    case OperatorKind::elementwise:
      if (kinds::moves(op)) return kinds::move_gradient(reverse, operand);
      if (is_convolution(op)) return convolution_gradient(reverse, operand);
      // A bias of scores has the gradient of the scores, summed.
      if (op.function == "route" && operand == 0) return kinds::softmax_gradient(reverse);
      return kinds::elementwise_gradient(reverse, operand);
    case OperatorKind::normalization:
      return kinds::normalization_gradient(reverse, operand);
    case OperatorKind::softmax:
      return kinds::softmax_gradient(reverse);
    case OperatorKind::cross_entropy:
      return kinds::cross_entropy_gradient(reverse);
    case OperatorKind::reduction:
    case OperatorKind::combine:
      return spread(reverse);
    case OperatorKind::dispatch:
      return dispatch_gradient(reverse, operand);
    case OperatorKind::view:
      return kinds::move_gradient(reverse, operand);
    case OperatorKind::scan:
      return kinds::scan_gradient(reverse, operand, op.inputs[operand]);
    default:
      break;
  }
  fail_internal("the interpreter knows no gradient of " + std::string(name_of(op.kind)) + " (operator " + op.name +
                ")");
}

}  // namespace mirfak::interpreter
