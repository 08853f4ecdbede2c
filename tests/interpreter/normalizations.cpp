// Normalizations, softmax, the choice of experts and cross entropy: what is made along some axes of a tensor.

#include "kernels.hpp"

#include "base/error.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace mirfak::interpreter::kinds {

namespace {

constexpr double kEpsilon = 1e-5;

// A batch norm also runs over all sequences that a device has.
std::vector<Axis> over_of(const OperatorGraph& graph, const Operator& op) {
  std::vector<Axis> out(op.over.begin(), op.over.end());
  if (op.function != "batch_norm") return out;
  for (const Axis label : op.inputs[0].labels) {
    if (graph.divided_by(label) == Parallelism::data) out.push_back(label);
  }
  return out;
}

// Calls row(position) for every row: every place of the labels that the operator does not run over.
template <typename Row>
void for_each_row(const OperatorGraph& graph, const Operator& op, const Ranges& ranges, Position& at, const Row& row) {
  const std::vector<Axis> rows = without(labels_of(op.inputs[0]), over_of(graph, op));
  for_each(rows, ranges, at, row);
}

struct Statistics {
  double mean = 0;
  double inverse = 0;  // of the root of the mean square
  double count = 0;
};

Statistics statistics(const OperatorGraph& graph, const Operator& op, const Ranges& ranges, const Access& x,
                      Position& at) {
  Statistics out;
  const std::vector<Axis> over = over_of(graph, op);
  double squares = 0;
  for_each(over, ranges, at, [&] {
    out.count += 1;
    out.mean += x.read(at);
  });
  out.mean = op.function == "rms_norm" ? 0 : out.mean / out.count;
  for_each(over, ranges, at, [&] { squares += std::pow(x.read(at) - out.mean, 2); });
  out.inverse = 1 / std::sqrt(squares / out.count + kEpsilon);
  return out;
}

void check_norm(const Operator& op) {
  if (op.function != "rms_norm" && op.function != "layer_norm" && op.function != "batch_norm") {
    fail_internal("the interpreter knows no normalization '" + op.function + "' (operator " + op.name + ")");
  }
}

// True if this class is the one that the token's loss asks for: as the operator reads it, else as chance chooses.
bool is_target(const OperatorGraph& graph, const Operator& op, const Pieces& inputs, const Position& at) {
  std::vector<Axis> classes = without(labels_of(op.inputs[0]), labels_of(op.outputs[0]));
  const double extent = static_cast<double>(graph.extent(classes.front()));
  if (op.inputs.size() > 1) {
    if (inputs[1] == nullptr) fail_internal("the targets of " + op.name + " were not kept");
    return at[classes.front()] == static_cast<std::int64_t>(Access(graph, op.inputs[1], *inputs[1]).read(at));
  }
  const double chosen = noise(op.name + " target", flat(graph, labels_of(op.outputs[0]), at));
  return at[classes.front()] == static_cast<std::int64_t>(chosen * extent);
}

}  // namespace

std::vector<Piece> normalization(const OperatorGraph& graph, const Operator& op, const Ranges& ranges,
                                 const Pieces& inputs) {
  check_norm(op);
  std::vector<Piece> out = zeros(graph, op.outputs, ranges);
  std::vector<Access> in;
  for (std::size_t i = 0; i < inputs.size(); ++i) in.emplace_back(graph, op.inputs[i], *inputs[i]);
  const Access y(graph, op.outputs[0], out[0]);
  Position at;
  for_each_row(graph, op, ranges, at, [&] {
    const Statistics row = statistics(graph, op, ranges, in[0], at);
    for_each(over_of(graph, op), ranges, at, [&] {
      double value = (in[0].read(at) - row.mean) * row.inverse;
      if (in.size() > 1) value *= in[1].read(at);
      if (in.size() > 2) value += in[2].read(at);
      out[0].values[y.offset(at)] = value;
    });
  });
  return out;
}

// With n = (x - mean) / deviation and y = n w + b: dw = sum dy n, db = sum dy,
// dx = (dy w - mean(dy w) - n mean(dy w n)) / deviation, without the first mean for a root mean square.
Piece normalization_gradient(const Reverse& reverse, std::size_t operand) {
  const Operator& op = reverse.op;
  check_norm(op);
  Piece out(box_of(reverse.graph, op.inputs[operand], reverse.ranges));
  const Access dy(reverse.graph, op.outputs[0], needed(reverse, reverse.output_gradients, 0, "the gradient"));
  const Access x(reverse.graph, op.inputs[0], needed(reverse, reverse.inputs, 0, "its operand"));
  const Access to(reverse.graph, op.inputs[operand], out);
  const bool scaled = op.inputs.size() > 1;
  const Access weight(reverse.graph, op.inputs[scaled && operand == 0 ? 1 : 0],
                      scaled && operand == 0 ? needed(reverse, reverse.inputs, 1, "its weight") : *reverse.inputs[0]);
  Position at;
  for_each_row(reverse.graph, op, reverse.ranges, at, [&] {
    const Statistics row = statistics(reverse.graph, op, reverse.ranges, x, at);
    const auto normal = [&] { return (x.read(at) - row.mean) * row.inverse; };
    const auto scaled_gradient = [&] { return dy.read(at) * (scaled ? weight.read(at) : 1); };
    double mean = 0;
    double along = 0;
    if (operand == 0) {
      for_each(over_of(reverse.graph, op), reverse.ranges, at, [&] {
        mean += scaled_gradient() / row.count;
        along += scaled_gradient() * normal() / row.count;
      });
    }
    if (op.function == "rms_norm") mean = 0;
    for_each(over_of(reverse.graph, op), reverse.ranges, at, [&] {
      const double value = operand == 0   ? (scaled_gradient() - mean - normal() * along) * row.inverse
                           : operand == 1 ? dy.read(at) * normal()
                                          : dy.read(at);
      out.values[to.offset(at)] += value;
    });
  });
  return out;
}

std::vector<Piece> softmax(const OperatorGraph& graph, const Operator& op, const Ranges& ranges, const Pieces& inputs) {
  std::vector<Piece> out = zeros(graph, op.outputs, ranges);
  const Access x(graph, op.inputs[0], *inputs[0]);
  const Access y(graph, op.outputs[0], out[0]);
  Position at;
  for_each_row(graph, op, ranges, at, [&] {
    double largest = -std::numeric_limits<double>::infinity();
    double sum = 0;
    for_each(over_of(graph, op), ranges, at, [&] { largest = std::max(largest, x.read(at)); });
    for_each(over_of(graph, op), ranges, at, [&] { sum += std::exp(x.read(at) - largest); });
    for_each(over_of(graph, op), ranges, at,
             [&] { out[0].values[y.offset(at)] = std::exp(x.read(at) - largest) / sum; });
  });
  return out;
}

// The gradient of softmax, and of the choice of experts, a softmax over the chosen: dx = y (dy - sum dy y).
Piece softmax_gradient(const Reverse& reverse) {
  const Operator& op = reverse.op;
  Piece out(box_of(reverse.graph, op.inputs[0], reverse.ranges));
  const Access dy(reverse.graph, op.outputs[0], needed(reverse, reverse.output_gradients, 0, "the gradient"));
  const Access y(reverse.graph, op.outputs[0], needed(reverse, reverse.outputs, 0, "its result"));
  const Access dx(reverse.graph, op.inputs[0], out);
  Position at;
  for_each_row(reverse.graph, op, reverse.ranges, at, [&] {
    double along = 0;
    for_each(over_of(reverse.graph, op), reverse.ranges, at, [&] { along += dy.read(at) * y.read(at); });
    for_each(over_of(reverse.graph, op), reverse.ranges, at,
             [&] { out.values[dx.offset(at)] = y.read(at) * (dy.read(at) - along); });
  });
  return out;
}

// Softmax over the largest scores, zero elsewhere. A bias is added to the scores.
std::vector<Piece> route(const OperatorGraph& graph, const Operator& op, const Ranges& ranges, const Pieces& inputs) {
  std::vector<Piece> out = zeros(graph, op.outputs, ranges);
  std::vector<Access> in;
  for (std::size_t i = 0; i < inputs.size(); ++i) in.emplace_back(graph, op.inputs[i], *inputs[i]);
  const Access y(graph, op.outputs[0], out[0]);
  Position at;
  const auto score = [&] { return in[0].read(at) + (in.size() > 1 ? in[1].read(at) : 0); };
  for_each_row(graph, op, ranges, at, [&] {
    std::vector<double> scores;
    for_each(over_of(graph, op), ranges, at, [&] { scores.push_back(score()); });
    std::sort(scores.begin(), scores.end(), std::greater<>());
    scores.resize(static_cast<std::size_t>(op.number));
    double sum = 0;
    for (const double chosen : scores) sum += std::exp(chosen - scores.front());
    for_each(over_of(graph, op), ranges, at, [&] {
      if (score() >= scores.back()) out[0].values[y.offset(at)] = std::exp(score() - scores.front()) / sum;
    });
  });
  return out;
}

std::vector<Piece> cross_entropy(const OperatorGraph& graph, const Operator& op, const Ranges& ranges,
                                 const Pieces& inputs) {
  std::vector<Piece> out = zeros(graph, op.outputs, ranges);
  const Access x(graph, op.inputs[0], *inputs[0]);
  const Access token(graph, op.outputs[0], out[0]);
  const Access softmax(graph, op.outputs[3], out[3]);
  out[1].values.setConstant(-std::numeric_limits<double>::infinity());
  Position at;
  for_each(labels_of(op.inputs[0]), ranges, at, [&] {
    const std::int64_t place = token.offset(at);
    const double exponential = std::exp(x.read(at));
    if (is_target(graph, op, inputs, at)) out[0].values[place] -= x.read(at);
    out[1].values[place] = std::max(out[1].values[place], x.read(at));
    out[2].values[place] += exponential;
    out[3].values[softmax.offset(at)] = exponential;
  });
  return out;
}

// The loss of every token counts once: dx = softmax - 1 at the target.
Piece cross_entropy_gradient(const Reverse& reverse) {
  const Operator& op = reverse.op;
  Piece out(box_of(reverse.graph, op.inputs[0], reverse.ranges));
  const Access softmax(reverse.graph, op.outputs[3], needed(reverse, reverse.outputs, 3, "its softmax"));
  const Access dx(reverse.graph, op.inputs[0], out);
  const bool seeded = !reverse.output_gradients.empty() && reverse.output_gradients[0] != nullptr;
  Position at;
  for_each(labels_of(op.inputs[0]), reverse.ranges, at, [&] {
    const double dy = seeded ? Access(reverse.graph, op.outputs[0], *reverse.output_gradients[0]).read(at) : 1;
    const double target = is_target(reverse.graph, op, reverse.inputs, at) ? 1 : 0;
    out.values[dx.offset(at)] = dy * (softmax.read(at) - target);
  });
  return out;
}

}  // namespace mirfak::interpreter::kinds

namespace mirfak::interpreter {

void finish_cross_entropy(const OperatorGraph& graph, const Operator& op, const Ranges& ranges,
                          std::vector<Piece>& results) {
  const Access token(graph, op.outputs[0], results[0]);
  const Access softmax(graph, op.outputs[3], results[3]);
  Position at;
  for_each(labels_of(op.inputs[0]), ranges, at,
           [&] { results[3].values[softmax.offset(at)] /= results[2].values[token.offset(at)]; });
  results[0].values += results[2].values.log();
}

}  // namespace mirfak::interpreter
