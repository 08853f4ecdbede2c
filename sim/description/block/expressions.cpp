// Expressions: products by juxtaposition (a label that the left side lacks is summed), and arithmetic that aligns
// operands by label.

#include "base/text.hpp"
#include "block/compiler.hpp"
#include "formula/evaluate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace mirfak::block {

namespace {

const char* function_of(formula::Operation operation) {
  constexpr std::array names = {"add", "subtract", "multiply", "divide"};
  return names.at(static_cast<std::size_t>(operation) - static_cast<std::size_t>(formula::Operation::add));
}

constexpr int kMaxUses = 20;  // blocks within blocks
constexpr std::int64_t kMaxStride = 1'000'000;

}  // namespace

Wanted part_of(const Wanted& wanted, const std::string& step) {
  Wanted part = wanted;
  part.name = wanted.name + "." + step;
  part.format.clear();
  return part;
}

Wanted unknown_part_of(const Wanted& wanted, const std::string& step) {
  Wanted part = part_of(wanted, step);
  part.known = false;
  return part;
}

// Names a product after its last factor, usually its weight.
std::string step_name(const Expression& expression) {
  switch (expression.kind) {
    case Expression::Kind::contraction:
      return expression.parts.back().name.empty() ? "product" : expression.parts.back().name;
    case Expression::Kind::operation:
      return function_of(expression.by);
    default:
      return expression.name.empty() ? "scale" : expression.name;
  }
}

Value Compiler::evaluate(const Expression& expression, const Wanted& wanted) {
  Wanted own = wanted;
  if (expression.result) {
    own.labels = names_of(*expression.result);
    own.known = true;
  }
  Value value;
  switch (expression.kind) {
    case Expression::Kind::tensor:
      value = evaluate_tensor(expression, false);
      break;
    case Expression::Kind::number:
      value.number = expression.number;
      value.place = expression.place;
      break;
    case Expression::Kind::call:
      value = evaluate_call(expression, own);
      break;
    case Expression::Kind::use:
      value = evaluate_use(expression, own);
      break;
    case Expression::Kind::contraction:
      value = evaluate_contraction(expression, own);
      break;
    case Expression::Kind::negate:
      value = negate(expression, own);
      break;
    default:
      value = evaluate_operation(expression, own);
      break;
  }
  if (expression.result && value.tensor >= 0) check_labels(value, own, expression.place);
  return value;
}

Value Compiler::evaluate_tensor(const Expression& expression, bool windows_allowed) {
  const auto found = tensors_.find(expression.name);
  if (found == tensors_.end() && expression.indices.empty() && sizes_.has(expression.name)) {
    Value size;
    size.number = sizes_.values().find(expression.name)->second;
    size.place = expression.place;
    return size;
  }
  if (found == tensors_.end()) {
    std::vector<std::string> names;
    for (const auto& [name, defined] : tensors_) names.push_back(name);
    fail(expression.place, fmt::format("'{}' is not defined here", expression.name),
         did_you_mean(expression.name, names,
                      "a tensor is defined before it is used, as an input, a param or by a statement"));
  }
  Defined& defined = found->second;
  defined.used = true;
  Value value = defined.value;
  value.place = expression.place;
  if (value.absent || expression.indices.empty()) return value;
  if (expression.indices.size() != value.labels.size()) {
    fail(expression.place, fmt::format("{} has {} axes, here are {} labels", expression.name, value.labels.size(),
                                       expression.indices.size()));
  }
  LabelNames used;
  for (std::size_t i = 0; i < expression.indices.size(); ++i) {
    const Index& index = expression.indices[i];
    const Label& label = index.terms.front().label;
    if (!index.plain()) {
      if (windows_allowed) continue;
      fail(label.place, "a window stands in products and reductions only",
           "x[b s+p-3 c] w[p c]: juxtaposed with what it is multiplied by");
    }
    bound(label.name, label.place);
    if (!same_size(label.name, defined.value.labels[i], label.place)) {
      fail(label.place,
           fmt::format("the label '{}' does not match: axis {} of {} is {}={}, {} is {}", label.name, i + 1,
                       expression.name, defined.value.labels[i], bound(defined.value.labels[i], label.place).size,
                       label.name, bound(label.name, label.place).size));
    }
    if (holds(used, label.name)) {
      fail(label.place, fmt::format("the label '{}' stands here twice", label.name),
           fmt::format("{}' is another label of the same size", label.name));
    }
    used.push_back(label.name);
    value.labels[i] = label.name;
  }
  if (windows_allowed) read_windows(expression, value);
  return value;
}

// Reads windows, as in 2 * i + p - 1. The first label is the step, the second the tap.
void Compiler::read_windows(const Expression& expression, Value& value) {
  for (std::size_t i = 0; i < expression.indices.size(); ++i) {
    const Index& index = expression.indices[i];
    if (index.plain()) continue;
    const Label& first = index.terms.front().label;
    if (index.terms.size() != 2 || index.terms[0].factor < 1 || index.terms[1].factor < 1) {
      fail(first.place, "expected a window of two labels",
           "stride * place + dilation * tap + offset, as in x[b 2*i+p-1 c] w[p c o]");
    }
    Window window;
    window.position = static_cast<std::uint8_t>(i);
    window.step = axis_of(first.name, first.place);
    window.tap = axis_of(index.terms[1].label.name, index.terms[1].label.place);
    const auto factor = [&](const Index::Term& term) {
      if (term.size.empty()) return term.factor;
      Formula size;
      size.kind = formula::Kind::name;
      size.word = term.size;
      size.place = term.label.place;
      return static_cast<int>(sizes_.count(size, 1, kMaxStride));
    };
    window.stride = factor(index.terms[0]);
    window.dilation = factor(index.terms[1]);
    window.offset = index.offset;
    value.windows.push_back(window);
    for (const Index::Term& term : index.terms) value.window_labels.push_back(term.label.name);
  }
}

LabelNames labels_read(const Value& value) {
  LabelNames out;
  std::size_t window = 0;
  for (std::size_t axis = 0; axis < value.labels.size(); ++axis) {
    if (window < value.windows.size() && value.windows[window].position == axis) {
      out.push_back(value.window_labels[2 * window]);
      out.push_back(value.window_labels[2 * window + 1]);
      ++window;
    } else {
      out.push_back(value.labels[axis]);
    }
  }
  return out;
}

Value Compiler::evaluate_contraction(const Expression& expression, const Wanted& wanted) {
  std::vector<Value> values;
  std::vector<LabelNames> seen;  // labels of each value, with those of windows instead of the axes that windows go over
  for (const Expression& part : expression.parts) {
    Value value = part.kind == Expression::Kind::tensor ? evaluate_tensor(part, true)
                                                        : evaluate(part, unknown_part_of(wanted, step_name(part)));
    if (value.number) fail(part.place, "a number is multiplied with *", "2 * x");
    if (value.absent) {
      fail(part.place, fmt::format("'{}' does not exist here: its condition does not hold", part.name),
           "use it where the same condition holds");
    }
    seen.push_back(labels_read(value));
    values.push_back(std::move(value));
  }
  if (!wanted.known) {
    fail(expression.place, "which labels this product has is not said here",
         "put them after it in parentheses: (x[b s h] w[h f])[b s f]");
  }
  Value product_so_far = values.front();
  LabelNames labels_so_far = seen.front();
  for (std::size_t i = 1; i < values.size(); ++i) {
    const bool last = i + 1 == values.size();
    LabelNames labels;
    const auto wanted_later = [&](const std::string& label) {
      if (holds(wanted.labels, label)) return true;
      return std::any_of(seen.begin() + static_cast<std::ptrdiff_t>(i) + 1, seen.end(),
                         [&](const LabelNames& later) { return holds(later, label); });
    };
    if (last) {
      for (const std::string& label : wanted.labels) {
        if (holds(labels_so_far, label) || holds(seen[i], label)) labels.push_back(label);
      }
    } else {
      for (const LabelNames& of : {labels_so_far, seen[i]}) {
        for (const std::string& label : of) {
          if (wanted_later(label) && !holds(labels, label)) labels.push_back(label);
        }
      }
    }
    for (const auto& [own, other] : {std::pair(labels_so_far, seen[i]), std::pair(seen[i], labels_so_far)}) {
      for (const std::string& label : own) {
        if (holds(labels, label) || holds(other, label)) continue;
        fail(expression.parts[i].place,
             fmt::format("the label '{}' is in one factor only and not in the result", label),
             fmt::format("sum(x; {}) says it, if it is meant", label));
      }
    }
    const Wanted step = last ? wanted : part_of(wanted, "product");
    product_so_far = product(product_so_far, values[i], labels, step);
    labels_so_far = labels;
  }
  return product_so_far;
}

// A product sums over labels that both factors have and the result lacks: a GEMM. Without such a label it is
// elementwise; with a window and no columns of its own (a depthwise convolution) it is one pass over its operands.
Value Compiler::product(const Value& left, const Value& right, const LabelNames& labels, const Wanted& wanted) {
  const auto sums = [&](const Value& value) {
    return std::any_of(value.labels.begin(), value.labels.end(),
                       [&](const std::string& label) { return !holds(labels, label); });
  };
  const bool windows = !left.windows.empty() || !right.windows.empty();
  if (!windows && !sums(left) && !sums(right)) {
    return elementwise("multiply", {left, right}, labels, Keeps::operands, wanted, left.place);
  }
  if (windows) {
    const Value& data = left.windows.empty() ? right : left;
    const Value& taps = left.windows.empty() ? left : right;
    std::set<Axis> tapped;
    for (const Window& window : data.windows) tapped.insert(window.tap);
    const bool columns = std::any_of(taps.labels.begin(), taps.labels.end(), [&](const std::string& label) {
      return !holds(data.labels, label) && !tapped.contains(axis_of(label, taps.place));
    });
    if (!columns) {
      return elementwise("depthwise_convolution", {left, right}, labels, Keeps::operands, wanted, left.place);
    }
  }
  Value out = result(wanted, labels, left.place);
  Operator& op = emit(OperatorKind::einsum, {left, right}, {out});
  check_gradient(op, {left, right});
  for (const Value* factor : {&left, &right}) {
    for (const auto& [name, defined] : tensors_) {
      if (defined.parameter == nullptr || defined.value.tensor != factor->tensor) continue;
      op.linear = defined.parameter->linear && wanted.format.empty();
      for (const auto& tag : defined.parameter->tags) op.tags.insert(shared_.graph.tag(tag.name));
    }
  }
  return out;
}

LabelNames Compiler::union_of(const std::vector<Value>& values, const Wanted& wanted, Place at) const {
  LabelNames all;
  for (const Value& value : values) {
    for (const std::string& label : value.labels) {
      if (!holds(all, label)) all.push_back(label);
    }
  }
  if (!wanted.known) return all;
  LabelNames ordered;
  for (const std::string& label : wanted.labels) {
    if (holds(all, label)) ordered.push_back(label);
  }
  for (const std::string& label : all) {
    if (!holds(ordered, label)) {
      fail(at, fmt::format("the label '{}' of an operand is not in the result", label),
           fmt::format("only juxtaposed products sum over labels: sum(x; {})", label));
    }
  }
  return ordered;
}

Value Compiler::evaluate_operation(const Expression& expression, const Wanted& wanted) {
  const bool sum = formula::sign_of(expression.by).kind == formula::Kind::sum;
  const bool difference = expression.by == formula::Operation::subtract;
  const bool quotient = expression.by == formula::Operation::divide;
  std::vector<Value> values;
  for (const Expression& part : expression.parts) {
    values.push_back(evaluate(part, part_of(wanted, step_name(part))));
  }
  for (std::size_t i = 0; i < 2; ++i) {
    if (!values[i].absent) continue;
    const Value& other = values[1 - i];
    if (sum && !other.absent && !(i == 0 && difference)) return other;
    fail(expression.parts[i].place,
         fmt::format("'{}' does not exist here: its condition does not hold", expression.parts[i].name),
         "only a term that is added may be missing");
  }
  if (values[0].number && values[1].number) {
    Value out;
    out.number = formula::computed(expression.by, *values[0].number, *values[1].number);
    out.place = expression.place;
    return out;
  }
  if (values[0].number || values[1].number) {
    const Value& tensor = values[0].number ? values[1] : values[0];
    const bool inverse = values[0].number && quotient;
    Value out = elementwise(sum       ? "add_number"
                            : inverse ? "inverse"
                                      : "scale",
                            {tensor}, union_of({tensor}, wanted, expression.place),
                            inverse ? Keeps::result : Keeps::nothing, wanted, expression.place);
    const double number = values[0].number ? *values[0].number : *values[1].number;
    Operator& op = shared_.graph.operators.back();
    op.number = quotient && !inverse ? 1 / number : difference && !values[0].number ? -number : number;
    const bool passes = sum && !(values[0].number && difference);
    if (passes) op.passes_gradient = {tensor.tensor};
    return out;
  }
  const LabelNames labels = union_of(values, wanted, expression.place);
  Value out = elementwise(function_of(expression.by), values, labels, sum ? Keeps::nothing : Keeps::operands, wanted,
                          expression.place);
  Operator& op = shared_.graph.operators.back();
  op.adds_parameters = sum && !difference;
  if (op.adds_parameters) op.passes_gradient = {values[0].tensor, values[1].tensor};
  if (difference) op.passes_gradient = {values[0].tensor};
  return out;
}

Value Compiler::negate(const Expression& expression, const Wanted& wanted) {
  const Value value = evaluate(expression.parts[0], part_of(wanted, step_name(expression.parts[0])));
  if (value.absent) fail(value.place, "the negated tensor does not exist here, because its condition does not hold");
  if (!value.number) {
    Value negative = elementwise("scale", {value}, union_of({value}, wanted, expression.place), Keeps::nothing, wanted,
                                 expression.place);
    shared_.graph.operators.back().number = -1;
    return negative;
  }
  Value out = value;
  out.number = -*value.number;
  return out;
}

Sizes Compiler::sizes_of_use(const Expression& expression, const Definition& used) {
  Sizes stated;
  for (const NamedSize& size : expression.sizes) {
    const std::vector<std::string> names = size_names(*used.block);
    if (std::find(names.begin(), names.end(), size.name) == names.end()) {
      fail(size.place, fmt::format("the block {} takes no size '{}'", used.block->name, size.name),
           did_you_mean(size.name, names, "it takes " + join_or(names)));
    }
    stated[size.name] = sizes_.evaluate(size.value);
  }
  for (const std::string& name : used.sizes) {
    if (!stated.contains(name) && sizes_.has(name)) stated[name] = sizes_.values().find(name)->second;
  }
  for (const char* always : {"batch", "sequence"}) {
    if (sizes_.has(always)) stated[always] = sizes_.values().find(always)->second;
  }
  return complete_sizes(used, stated, {});
}

void Compiler::take_axes(const Expression& use, const Definition& used, const LabelNames& names,
                         const AxisLabels& axes) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    Bound& own = bound(names[i], use.place);
    if (!own.axis && !taken_.contains(axes[i]) && sizes_.extent(*own.stated) == shared_.graph.extent(axes[i])) {
      own.axis = axes[i];
      taken_.insert(axes[i]);
    }
    if (extent_of(names[i], use.place) == shared_.graph.extent(axes[i])) continue;
    fail(use.place, fmt::format("sizes in conflict: axis {} of what {} makes is {}, {} is {}", i + 1, used.block->name,
                                shared_.graph.extent(axes[i]), names[i], extent_of(names[i], use.place)));
  }
}

Value Compiler::evaluate_use(const Expression& expression, const Wanted& wanted) {
  const DefinitionPointer& used = definition_.uses.at(expression.name);
  if (++shared_.depth > kMaxUses) fail(expression.place, fmt::format("more than {} blocks within blocks", kMaxUses));
  std::vector<Value> values;
  for (const Expression& part : expression.parts) {
    values.push_back(evaluate(part, unknown_part_of(wanted, step_name(part))));
    if (values.back().tensor < 0) fail(part.place, "expected a tensor");
  }
  Sizes sizes = sizes_of_use(expression, *used);
  const bool whole = wanted.name == statement_;  // false: a step of a statement
  const std::string name = whole ? wanted.name : prefix_ + expression.name;
  Compiler inner(shared_, *used, std::move(sizes), shared_.fresh(name, "."));
  Value out = inner.compile_use(values, expression, *this);
  --shared_.depth;
  if (!wanted.known)
    fail(expression.place, "which labels the result of this block has is not said here",
         fmt::format("use {}(x)[b s h]", expression.name));
  const LabelNames& names = wanted.labels;
  if (names.size() != out.labels.size()) {
    fail(expression.place, fmt::format("the block {} makes a tensor of {} axes, here are {} labels", used->block->name,
                                       out.labels.size(), names.size()));
  }
  const AxisLabels axes = tensor_of(out).axes;
  take_axes(expression, *used, names, axes);
  out.labels = names;
  out.place = expression.place;
  if (stored_axes(names, expression.place) == axes) return out;
  Value view = result(part_of(wanted, "renamed"), names, expression.place);
  Operator op;
  op.name = tensor_of(view).name;
  op.kind = OperatorKind::view;
  op.inputs = {{out.tensor, axes, {}}};
  op.outputs = {{view.tensor, tensor_of(view).axes, {}}};
  shared_.graph.operators.push_back(std::move(op));
  return view;
}

}  // namespace mirfak::block
