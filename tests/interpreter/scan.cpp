// State-space duality (arXiv 2405.21060), token by token: h = exp(step decay) h + x step b, y = sum over the state of
// c h. Backward runs the other way: g = exp(step' decay) g' + c dy is the gradient of the state, primes the next token.

#include "kernels.hpp"

#include "base/error.hpp"

#include <cmath>

namespace mirfak::interpreter::kinds {

namespace {

enum Operand : std::size_t { kX, kStep, kB, kC, kDecay };

// One state of the recurrence: a place of all labels but the tokens.
class Recurrence {
 public:
  Recurrence(const OperatorGraph& graph, const Operator& op, const Ranges& ranges, const Pieces& inputs)
      : op_(op), tokens_(ranges[index_of(op.over[0])].size()) {
    if (tokens_ != graph.extent(op.over[0])) fail_internal("a scan reads all tokens of a sequence");
    if (op.inputs.size() > 5) fail_internal("the interpreter knows scans with one parameter, the decay");
    for (std::size_t i = 0; i < inputs.size(); ++i) inputs_.emplace_back(graph, op.inputs[i], *inputs[i]);
  }

  double read(std::size_t operand, Position& at, std::int64_t token) const {
    at[op_.over[0]] = token;
    return inputs_[operand].read(at);
  }
  double decay(Position& at) const { return inputs_.size() > kDecay ? inputs_[kDecay].read(at) : -1; }
  double factor(Position& at, std::int64_t token) const { return std::exp(read(kStep, at, token) * decay(at)); }
  std::int64_t tokens() const { return tokens_; }

  // The state after each token.
  std::vector<double> states(Position& at) const {
    std::vector<double> out;
    double state = 0;
    for (std::int64_t t = 0; t < tokens_; ++t) {
      state = factor(at, t) * state + read(kX, at, t) * read(kStep, at, t) * read(kB, at, t);
      out.push_back(state);
    }
    return out;
  }

 private:
  const Operator& op_;
  std::int64_t tokens_;
  std::vector<Access> inputs_;
};

std::vector<Axis> state_labels(const Operator& op) {
  std::vector<Axis> out = without(labels_of(op.inputs[kX]), std::vector<Axis>{op.over[0]});
  out.push_back(op.over[1]);
  return out;
}

}  // namespace

std::vector<Piece> scan(const OperatorGraph& graph, const Operator& op, const Ranges& ranges, const Pieces& inputs) {
  std::vector<Piece> out = zeros(graph, op.outputs, ranges);
  const Recurrence recurrence(graph, op, ranges, inputs);
  const Access y(graph, op.outputs[0], out[0]);
  Position at;
  for_each(state_labels(op), ranges, at, [&] {
    const std::vector<double> states = recurrence.states(at);
    for (std::int64_t t = 0; t < recurrence.tokens(); ++t) {
      const double c = recurrence.read(kC, at, t);
      out[0].values[y.offset(at)] += c * states[static_cast<std::size_t>(t)];
    }
  });
  return out;
}

Piece scan_gradient(const Reverse& reverse, std::size_t operand, const mirfak::Operand& result) {
  const Operator& op = reverse.op;
  Piece out(box_of(reverse.graph, result, reverse.ranges));
  for (std::size_t i = 0; i < op.inputs.size(); ++i) needed(reverse, reverse.inputs, i, "an operand");
  const Recurrence recurrence(reverse.graph, op, reverse.ranges, reverse.inputs);
  const Access dy(reverse.graph, op.outputs[0], needed(reverse, reverse.output_gradients, 0, "the gradient"));
  const Access to(reverse.graph, result, out);
  Position at;
  for_each(state_labels(op), reverse.ranges, at, [&] {
    const std::vector<double> states = recurrence.states(at);
    double gradient = 0;  // of the state after token t
    for (std::int64_t t = recurrence.tokens() - 1; t >= 0; --t) {
      const auto i = static_cast<std::size_t>(t);
      const double c = recurrence.read(kC, at, t);
      gradient += c * dy.read(at);
      const double x = recurrence.read(kX, at, t);
      const double step = recurrence.read(kStep, at, t);
      const double b = recurrence.read(kB, at, t);
      const double factor = recurrence.factor(at, t);
      const double before = i == 0 ? 0 : states[i - 1];
      const double of_exponent = gradient * factor * before;  // of step decay
      const double value = operand == kX      ? gradient * step * b
                           : operand == kStep ? gradient * x * b + of_exponent * recurrence.decay(at)
                           : operand == kB    ? gradient * x * step
                           : operand == kC    ? dy.read(at) * states[i]
                                              : of_exponent * step;
      out.values[to.offset(at)] += value;
      gradient *= factor;
    }
  });
  return out;
}

}  // namespace mirfak::interpreter::kinds
