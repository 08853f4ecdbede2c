// Elementwise operators: functions of the operands' elements at one place, and what depends on the place itself.

#include "functions.hpp"
#include "kernels.hpp"

#include "base/error.hpp"

#include <cmath>

namespace mirfak::interpreter::kinds {

namespace {

[[noreturn]] void refuse(const Operator& op) {
  fail_internal("the interpreter knows no function '" + op.function + "' (operator " + op.name + ")");
}

// The tokens among labels: their places turn pairs and say which scores are seen.
std::optional<Axis> tokens_of(const OperatorGraph& graph, const Operand& operand) {
  for (const Axis label : operand.labels) {
    if (graph.divided_by(label) == Parallelism::tokens) return label;
  }
  return std::nullopt;
}

// Queries see keys of their own sequence that stand no later; keys of another sequence all.
bool is_seen(const OperatorGraph& graph, const Operand& scores, const Position& at) {
  for (const Axis key : scores.labels) {
    const std::optional<Axis> query = graph.info(key).same_as;
    if (query && scores.labels.contains(*query)) return at[key] <= at[*query];
  }
  return true;
}

constexpr double kHidden = -1e9;

bool is_left(const OperatorGraph& graph, const Operator& dropout, const Position& at) {
  return noise(dropout.name, flat(graph, labels_of(dropout.outputs.front()), at)) >= dropout.number;
}

// Pairs (x0, x1) of neighbours are turned by an angle that the token's place and the pair say. `back`: the other way.
double turned(const OperatorGraph& graph, const Operator& op, const Access& x, Position at, bool back) {
  const Axis axis = op.over.front();
  const std::optional<Axis> tokens = tokens_of(graph, op.outputs.front());
  const std::int64_t place = at[axis];
  const std::int64_t partner = place ^ 1;
  if (partner >= graph.extent(axis) || !tokens) return x.read(at);
  const std::int64_t first = place - place % 2;
  const double pair = static_cast<double>(first) / static_cast<double>(graph.extent(axis));
  const double angle = static_cast<double>(at[*tokens]) * std::pow(100.0, -pair) * (back ? -1 : 1);
  const double own = x.read(at);
  at[axis] = partner;
  const double other = x.read(at);
  return place % 2 == 0 ? own * std::cos(angle) - other * std::sin(angle)
                        : own * std::cos(angle) + other * std::sin(angle);
}

class Elementwise {
 public:
  Elementwise(const OperatorGraph& graph, const Operator& op, const Pieces& inputs) : graph_(graph), op_(op) {
    for (std::size_t i = 0; i < inputs.size(); ++i) inputs_.emplace_back(graph, op.inputs[i], *inputs[i]);
  }

  double value(const Position& at) const {
    const std::string& name = op_.function;
    if (name == "rotary") return turned(graph_, op_, inputs_[0], at, false);
    const double x = inputs_[0].read(at);
    if (name == "dropout") return is_left(graph_, op_, at) ? x / (1 - op_.number) : 0;
    if (name == "mask") return is_seen(graph_, op_.outputs[0], at) ? x : kHidden;
    if (name == "add_number") return op_.passes_gradient.empty() ? op_.number - x : x + op_.number;
    if (inputs_.size() > 1) return of_several(name, x, at);
    const std::optional<double> found = function_of(name, op_.number, x);
    if (!found) refuse(op_);
    return *found;
  }

 private:
  double of_several(const std::string& name, double x, const Position& at) const {
    const double y = inputs_[1].read(at);
    if (inputs_.size() > 2) refuse(op_);
    // The buffer of the iteration, to which a weight gradient is added, has no function of its own.
    if (name == "add" || (name.empty() && op_.phase == Phase::weight_gradient)) return x + y;
    if (name == "subtract") return x - y;
    if (name == "multiply") return x * y;
    if (name == "divide") return x / y;
    refuse(op_);
  }

  const OperatorGraph& graph_;
  const Operator& op_;
  std::vector<Access> inputs_;
};

// The factor by which the gradient of the result becomes that of one operand.
class Partial {
 public:
  Partial(const Reverse& reverse, std::size_t operand) : reverse_(reverse), operand_(operand) {}

  double at(const Position& at) const {
    const Operator& op = reverse_.op;
    const std::string& name = op.function;
    if (name == "dropout") return read(reverse_.outputs, op.outputs, 1, at) / (1 - op.number);
    if (name == "mask") return is_seen(reverse_.graph, op.outputs[0], at) ? 1 : 0;
    if (name == "add_number") return op.passes_gradient.empty() ? -1 : 1;
    if (name == "add") return 1;
    if (name == "subtract") return operand_ == 0 ? 1 : -1;
    if (name == "multiply") return read(reverse_.inputs, op.inputs, 1 - operand_, at);
    if (name == "divide") {
      const double y = read(reverse_.inputs, op.inputs, 1, at);
      return operand_ == 0 ? 1 / y : -read(reverse_.inputs, op.inputs, 0, at) / (y * y);
    }
    const std::optional<double> x = read_if_kept(reverse_.inputs, op.inputs, at);
    const std::optional<double> y = read_if_kept(reverse_.outputs, op.outputs, at);
    const std::optional<double> found = derivative_of(name, op.number, x ? &*x : nullptr, y ? &*y : nullptr);
    if (!found) fail_internal("the gradient of " + op.name + " (" + name + ") reads what was not kept");
    return *found;
  }

 private:
  double read(const Pieces& pieces, const std::vector<Operand>& operands, std::size_t i, const Position& at) const {
    return Access(reverse_.graph, operands[i], needed(reverse_, pieces, i, "an operand or a result")).read(at);
  }
  std::optional<double> read_if_kept(const Pieces& pieces, const std::vector<Operand>& operands,
                                     const Position& at) const {
    if (pieces[0] == nullptr) return std::nullopt;
    return Access(reverse_.graph, operands[0], *pieces[0]).read(at);
  }

  const Reverse& reverse_;
  std::size_t operand_;
};

}  // namespace

std::vector<Piece> elementwise(const OperatorGraph& graph, const Operator& op, const Ranges& ranges,
                               const Pieces& inputs) {
  std::vector<Piece> out = zeros(graph, op.outputs, ranges);
  if (out.empty()) return out;
  const Elementwise function(graph, op, inputs);
  Position at;
  const Access result(graph, op.outputs[0], out[0]);
  for_each(labels_of(op.outputs[0]), ranges, at, [&] {
    const std::int64_t place = result.offset(at);
    out[0].values[place] = function.value(at);
    if (op.function == "dropout") out[1].values[place] = is_left(graph, op, at) ? 1 : 0;
  });
  return out;
}

Piece elementwise_gradient(const Reverse& reverse, std::size_t operand) {
  const Operator& op = reverse.op;
  Piece out(box_of(reverse.graph, op.inputs[operand], reverse.ranges));
  const Access dy(reverse.graph, op.outputs[0], needed(reverse, reverse.output_gradients, 0, "the gradient"));
  const Access dx(reverse.graph, op.inputs[operand], out);
  Position at;
  const Partial partial(reverse, operand);
  for_each(labels_of(op.outputs[0]), reverse.ranges, at, [&] {
    const double value =
        op.function == "rotary" ? turned(reverse.graph, op, dy, at, true) : dy.read(at) * partial.at(at);
    out.values[dx.offset(at)] += value;
  });
  return out;
}

}  // namespace mirfak::interpreter::kinds
