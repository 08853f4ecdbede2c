// Writes operators: the end of every path through the compiler.

#include "block/compiler.hpp"
#include "block/parser.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace mirfak::block {

namespace {

constexpr double kMaxElements = 4e15;  // whole numbers up to it are exact in doubles; products of two fit 128 bits

std::string joined(const LabelNames& labels) {
  std::string out;
  for (const std::string& label : labels) out += (out.empty() ? "" : " ") + label;
  return "[" + out + "]";
}

}  // namespace

bool holds(const LabelNames& labels, const std::string& label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

std::string GraphInProgress::fresh(const std::string& name, std::string_view ending) {
  std::string out = fmt::format("{}{}", name, ending);
  for (int again = 2; !names.insert(out).second; ++again) out = fmt::format("{}.{}{}", name, again, ending);
  return out;
}

double Compiler::bytes_of(const std::string& format) const {
  return format.empty() ? shared_.options.element_bytes : bytes_of_format(format);
}

TensorId Compiler::add_tensor(const std::string& name, const LabelNames& labels, TensorRole role, double bytes,
                              Place at) {
  Tensor tensor;
  tensor.name = name;
  tensor.axes = stored_axes(labels, at);
  tensor.bytes_per_element = bytes;
  tensor.role = role;
  double elements = 1;
  for (const Axis axis : tensor.axes) elements *= static_cast<double>(shared_.graph.extent(axis));
  if (elements > kMaxElements) fail(at, fmt::format("{} has {:g} elements", name, elements), "state smaller sizes");
  return shared_.graph.add_tensor(std::move(tensor));
}

Value Compiler::result(const Wanted& wanted, const LabelNames& labels, Place at) {
  Value out;
  out.labels = labels;
  out.place = at;
  out.tensor = add_tensor(shared_.fresh(wanted.name), labels, TensorRole::activation, bytes_of(wanted.format), at);
  return out;
}

// Adds a second result of an operator: statistics, masks.
Value Compiler::second_result(const std::string& name, const LabelNames& labels, double bytes, Place at) {
  Value out;
  out.labels = labels;
  out.place = at;
  out.tensor = add_tensor(shared_.fresh(name), labels, TensorRole::activation, bytes, at);
  return out;
}

Operator& Compiler::emit(OperatorKind kind, const std::vector<Value>& inputs, const std::vector<Value>& outputs,
                         const LabelNames& over) {
  LabelNames all = over;
  for (const auto* values : {&inputs, &outputs}) {
    for (const Value& value : *values) {
      all.insert(all.end(), value.labels.begin(), value.labels.end());
      all.insert(all.end(), value.window_labels.begin(), value.window_labels.end());
    }
  }
  const auto operand = [&](const Value& value) {
    return Operand{value.tensor, axes_among(value.labels, all, value.place), value.windows};
  };
  Operator op;
  op.name = tensor_of(outputs.front()).name;
  op.kind = kind;
  op.over = axes_among(over, all, outputs.front().place);
  for (const Value& value : inputs) op.inputs.push_back(operand(value));
  for (const Value& value : outputs) op.outputs.push_back(operand(value));
  for (const mirfak::Tag tag : tags_) op.tags.insert(tag);
  inherit(inputs, outputs);
  shared_.graph.operators.push_back(std::move(op));
  return shared_.graph.operators.back();
}

// Passes properties of inputs on to outputs: rows made of rows of experts exist where those rows exist, and a result
// has no gradient if no input has one.
void Compiler::inherit(const std::vector<Value>& inputs, const std::vector<Value>& outputs) {
  bool gradient = false;
  for (const Value& input : inputs) {
    gradient = gradient || shared_.has_gradient(input.tensor);
    const Tensor from = tensor_of(input);
    for (const Value& output : outputs) {
      Tensor& to = shared_.graph.tensors[static_cast<std::size_t>(output.tensor)];
      if (from.density >= to.density || !from.sparse_along || !to.axes.contains(*from.sparse_along)) continue;
      to.density = from.density;
      to.sparse_along = from.sparse_along;
    }
  }
  if (gradient) return;
  for (const Value& output : outputs) shared_.without_gradient.insert(output.tensor);
}

// Fails for an operand that a gradient must pass to but cannot.
void Compiler::check_gradient(const Operator& op, const std::vector<Value>& inputs) const {
  for (const Value& input : inputs) {
    const auto cut = shared_.cut.find(input.tensor);
    if (cut == shared_.cut.end()) continue;
    fail(input.place,
         fmt::format("{} has no derivative, and a gradient must pass through it to be used here", cut->second),
         fmt::format("stop({}(...)) says that none shall; it is an operand of {}", cut->second, op.name));
  }
}

Value Compiler::elementwise(const std::string& function, const std::vector<Value>& inputs, const LabelNames& labels,
                            Keeps keeps, const Wanted& wanted, Place at, const LabelNames& over) {
  Value out = result(wanted, labels, at);
  Operator& op = emit(OperatorKind::elementwise, inputs, {out}, over);
  op.function = function;
  switch (keeps) {
    case Keeps::operands:
      for (const Value& input : inputs) op.saved.push_back(input.tensor);
      break;
    case Keeps::result:
      op.saved.push_back(out.tensor);
      break;
    case Keeps::no_derivative:
      op.has_gradient = false;
      if (shared_.has_gradient(inputs.front().tensor)) shared_.cut[out.tensor] = function;
      break;
    case Keeps::stops:
      op.has_gradient = false;
      shared_.without_gradient.insert(out.tensor);
      break;
    default:
      break;
  }
  if (keeps != Keeps::stops && keeps != Keeps::no_derivative) check_gradient(op, inputs);
  return out;
}

void Compiler::check_labels(const Value& value, const Wanted& wanted, Place at) const {
  if (!wanted.known) return;
  for (const std::string& label : wanted.labels) {
    if (holds(value.labels, label)) continue;
    fail(at, fmt::format("the label '{}' stands on the left, but what is defined has the labels {}", label,
                         joined(value.labels)));
  }
  for (const std::string& label : value.labels) {
    if (holds(wanted.labels, label)) continue;
    fail(at,
         fmt::format("what is defined has the label '{}' as well, the left side has {}", label, joined(wanted.labels)),
         "only products sum over labels that the left side lacks; sum(x; " + label + ") says it of others");
  }
}

}  // namespace mirfak::block
