// Attention: out = sum over keys of exp(q k / sqrt(width) - l) v, l the logarithm of the sum of exponentials.

#include "kernels.hpp"

#include "base/error.hpp"

#include <cmath>
#include <limits>

namespace mirfak::interpreter {

namespace {

constexpr double kNothingSeen = -1e300;  // the logarithm of an empty sum

// Scores of one query with keys.
class Scores {
 public:
  Scores(const OperatorGraph& graph, const Operator& op, const Pieces& inputs)
      : op_(op),
        query_(graph, op.inputs[0], *inputs[0]),
        key_(graph, op.inputs[1], *inputs[1]),
        scale_(1 / std::sqrt(static_cast<double>(graph.extent(op.over[2])))) {}

  bool is_seen(const Position& at) const {
    const std::int64_t later = at[op_.over[0]] - at[op_.over[1]];
    if (op_.causal && later < 0) return false;
    return op_.window == 0 || later < op_.window;
  }
  double scale() const { return scale_; }
  double of(const Ranges& ranges, Position& at) const {
    double sum = 0;
    const std::vector<Axis> width = {op_.over[2]};
    const std::int64_t before = at[width[0]];
    for_each(width, ranges, at, [&] { sum += query_.read(at) * key_.read(at); });
    at[width[0]] = before;
    return sum * scale_;
  }
  double query(const Position& at) const { return query_.read(at); }
  double key(const Position& at) const { return key_.read(at); }

 private:
  const Operator& op_;
  Access query_;
  Access key_;
  double scale_;
};

// Labels of queries but the width; of values alone.
std::vector<Axis> rows_of(const Operator& op) {
  const std::vector<Axis> width = {op.over[2]};
  return without(labels_of(op.inputs[0]), width);
}
std::vector<Axis> value_labels(const Operator& op) {
  std::vector<Axis> rows = rows_of(op);
  rows.push_back(op.over[1]);
  return without(labels_of(op.inputs[2]), rows);
}

}  // namespace

namespace kinds {

std::vector<Piece> attention(const OperatorGraph& graph, const Operator& op, const Ranges& ranges,
                             const Pieces& inputs) {
  std::vector<Piece> out = zeros(graph, op.outputs, ranges);
  const Scores scores(graph, op, inputs);
  const Access value(graph, op.inputs[2], *inputs[2]);
  const Access result(graph, op.outputs[0], out[0]);
  const Access logarithm(graph, op.outputs[1], out[1]);
  const std::vector<Axis> keys = {op.over[1]};
  const std::vector<Axis> values = value_labels(op);
  Position at;
  for_each(rows_of(op), ranges, at, [&] {
    double sum = 0;
    for_each(keys, ranges, at, [&] {
      if (scores.is_seen(at)) sum += std::exp(scores.of(ranges, at));
    });
    out[1].values[logarithm.offset(at)] = sum > 0 ? std::log(sum) : kNothingSeen;
    for_each(keys, ranges, at, [&] {
      if (!scores.is_seen(at)) return;
      const double share = std::exp(scores.of(ranges, at)) / sum;
      for_each(values, ranges, at, [&] { out[0].values[result.offset(at)] += share * value.read(at); });
    });
  });
  return out;
}

// With p the shares, dp = dy v and r = sum over values of dy out: dv = p dy, and with ds = p (dp - r) / sqrt(width)
// dq = ds k, dk = ds q.
Piece attention_gradient(const Reverse& reverse, std::size_t operand) {
  const Operator& op = reverse.op;
  Piece out(box_of(reverse.graph, op.inputs[operand], reverse.ranges));
  for (std::size_t i = 0; i < 3; ++i) needed(reverse, reverse.inputs, i, "an operand");
  const Scores scores(reverse.graph, op, reverse.inputs);
  const Access value(reverse.graph, op.inputs[2], *reverse.inputs[2]);
  const Access result(reverse.graph, op.outputs[0], needed(reverse, reverse.outputs, 0, "its result"));
  const Access logarithm(reverse.graph, op.outputs[1], needed(reverse, reverse.outputs, 1, "its logarithms"));
  const Access dy(reverse.graph, op.outputs[0], needed(reverse, reverse.output_gradients, 0, "the gradient"));
  const Access to(reverse.graph, op.inputs[operand], out);
  const std::vector<Axis> keys = {op.over[1]};
  const std::vector<Axis> width = {op.over[2]};
  const std::vector<Axis> values = value_labels(op);
  Position at;
  for_each(rows_of(op), reverse.ranges, at, [&] {
    double own = 0;
    for_each(values, reverse.ranges, at, [&] { own += dy.read(at) * result.read(at); });
    for_each(keys, reverse.ranges, at, [&] {
      if (!scores.is_seen(at)) return;
      const double share = std::exp(scores.of(reverse.ranges, at) - logarithm.read(at));
      if (operand == 2) {
        for_each(values, reverse.ranges, at, [&] { out.values[to.offset(at)] += share * dy.read(at); });
        return;
      }
      double along = 0;
      for_each(values, reverse.ranges, at, [&] { along += dy.read(at) * value.read(at); });
      const double ds = share * (along - own) * scores.scale();
      for_each(width, reverse.ranges, at,
               [&] { out.values[to.offset(at)] += ds * (operand == 0 ? scores.key(at) : scores.query(at)); });
    });
  });
  return out;
}

}  // namespace kinds

void join_attention(const OperatorGraph& graph, const Operator& attention, const Ranges& ranges,
                    std::vector<Piece>& results, const std::vector<Piece>& more) {
  const Access result(graph, attention.outputs[0], results[0]);
  const Access logarithm(graph, attention.outputs[1], results[1]);
  Position at;
  for_each(rows_of(attention), ranges, at, [&] {
    const std::int64_t row = logarithm.offset(at);
    const double a = results[1].values[row];
    const double b = more[1].values[row];
    const double largest = std::max(a, b);
    const double joined =
        largest <= kNothingSeen ? kNothingSeen : largest + std::log(std::exp(a - largest) + std::exp(b - largest));
    for_each(value_labels(attention), ranges, at, [&] {
      const std::int64_t place = result.offset(at);
      if (joined <= kNothingSeen) return;
      results[0].values[place] =
          results[0].values[place] * std::exp(a - joined) + more[0].values[place] * std::exp(b - joined);
    });
    results[1].values[row] = joined;
  });
}

}  // namespace mirfak::interpreter
