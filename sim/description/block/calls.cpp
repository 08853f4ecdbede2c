// The operators of the table: the results that each makes of its operands, and the tensors that it keeps for backward.

#include "base/text.hpp"
#include "block/compiler.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace mirfak::block {

namespace {

using Form = OperatorRow::Form;

LabelNames without(const LabelNames& labels, const LabelNames& dropped) {
  LabelNames out;
  std::copy_if(labels.begin(), labels.end(), std::back_inserter(out),
               [&](const std::string& label) { return !holds(dropped, label); });
  return out;
}

std::string counted(std::size_t min, std::size_t max, const char* what) {
  if (min == max) return fmt::format("{} {}{}", min, what, min == 1 ? "" : "s");
  return fmt::format("{} to {} {}s", min, max, what);
}

}  // namespace

void Compiler::read_option(const Item& item, const OperatorRow& row, Call& call) {
  const std::vector<std::string> names(row.options.begin(), row.options.end());
  std::string name = item.option;
  std::optional<double> value;
  if (item.value) value = sizes_.evaluate(*item.value);
  if (name.empty() && item.labels.size() == 1) {
    const Label& word = item.labels.front();
    if (std::find(names.begin(), names.end(), word.name) != names.end()) {
      name = word.name;  // a flag: 1, unless a size of that name gives its value
      value = sizes_.has(name) ? sizes_.values().find(name)->second : 1;
    } else if (sizes_.has(word.name)) {
      value = sizes_.values().find(word.name)->second;
    }
  }
  if (name.empty() && value) {
    for (const std::string& next : names) {
      if (name.empty() && !call.options.contains(next)) name = next;
    }
  }
  if (name.empty() || std::find(names.begin(), names.end(), name) == names.end()) {
    const std::string found = !name.empty() ? name : item.labels.empty() ? "a value" : item.labels.front().name;
    fail(item.place, fmt::format("{} has no axis or option '{}' here", row.name, found),
         did_you_mean(found, names, fmt::format("it is written {}", row.use)));
  }
  if (!call.options.emplace(name, *value).second) fail(item.place, fmt::format("'{}' is stated twice", name));
}

void Compiler::read_options(const Expression& expression, const OperatorRow& row, Call& call) {
  const auto group = [&](const Item& item) {
    LabelNames out;
    for (const Label& label : item.labels) {
      bound(label.name, label.place);
      out.push_back(label.name);
    }
    return out;
  };
  for (const Item& item : expression.items) {
    const bool axis = call.axes.size() < row.axes && item.option.empty() && !item.value;
    if (axis) {
      call.axes.push_back(group(item));
    } else {
      read_option(item, row, call);
    }
  }
  for (const Item& item : expression.made) {
    if (!item.option.empty() || item.value) {
      read_option(item, row, call);
    } else {
      call.made.push_back(group(item));
    }
  }
  if (call.axes.size() != row.axes || expression.arrow != row.arrow) {
    fail(expression.place,
         fmt::format("{} takes {} {} after the semicolon{}", row.name, row.axes, row.axes == 1 ? "axis" : "axes",
                     row.arrow ? " and what becomes of them after ->" : ""),
         fmt::format("it is written {}", row.use));
  }
}

// Returns the labels wanted of an operand, if those of the result determine them.
Wanted Compiler::operand_wanted(const Call& call, std::size_t operand, const Wanted& wanted) {
  const Expression& part = call.expression->parts[operand];
  Wanted out = part_of(wanted, step_name(part));
  switch (call.row->form) {
    case Form::elementwise:
    case Form::normalization:
    case Form::batch_normalization:
    case Form::softmax:
    case Form::rotary:
    case Form::dropout:
    case Form::route:
      return out;
    case Form::reduction:
    case Form::cross_entropy:
      // The result may have a label of that name too, along which the combination is repeated.
      for (const LabelNames& over : call.axes) {
        std::copy_if(over.begin(), over.end(), std::back_inserter(out.labels),
                     [&](const std::string& label) { return !holds(out.labels, label); });
      }
      return out;
    default:
      out.known = false;
      return out;
  }
}

Compiler::Call Compiler::read_call(const Expression& expression, const Wanted& wanted) {
  const OperatorRow* row = find_operator(expression.name);
  if (row == nullptr) {
    fail(expression.place, fmt::format("unknown operator '{}'", expression.name),
         did_you_mean(expression.name, operator_names(), "the operators are " + join_or(operator_names())));
  }
  if (expression.parts.size() < row->min_operands || expression.parts.size() > row->max_operands) {
    fail(expression.place,
         fmt::format("{} takes {}, found {}", row->name, counted(row->min_operands, row->max_operands, "operand"),
                     expression.parts.size()),
         fmt::format("it is written {}", row->use));
  }
  Call call;
  call.row = row;
  call.expression = &expression;
  read_options(expression, *row, call);
  for (std::size_t i = 0; i < expression.parts.size(); ++i) {
    const Expression& part = expression.parts[i];
    const bool windows = row->form == Form::reduction && part.kind == Expression::Kind::tensor;
    Value value = windows ? evaluate_tensor(part, true) : evaluate(part, operand_wanted(call, i, wanted));
    if (value.absent) {
      const bool optional = (i > 0 && (row->form == Form::normalization || row->form == Form::route)) ||
                            (i > 2 && row->form == Form::attention);
      if (optional) continue;
      fail(expression.parts[i].place,
           fmt::format("'{}' does not exist here: its condition does not hold", expression.parts[i].name));
    }
    if (value.number) fail(expression.parts[i].place, fmt::format("{} takes tensors, found a number", row->name));
    call.operands.push_back(std::move(value));
  }
  return call;
}

// Fails unless the operand has the labels that the operator runs over.
void Compiler::check_axes(const Call& call, std::size_t operand) const {
  const LabelNames labels = labels_read(call.operands[operand]);
  std::size_t item = 0;
  for (const LabelNames& over : call.axes) {
    for (const std::string& label : over) {
      if (holds(labels, label)) continue;
      fail(call.expression->items[item].place,
           fmt::format("{} runs over '{}', which its operand does not have", call.row->name, label),
           fmt::format("it is written {}", call.row->use));
    }
    ++item;
  }
}

Value Compiler::evaluate_call(const Expression& expression, const Wanted& wanted) {
  const Call call = read_call(expression, wanted);
  switch (call.row->form) {
    case Form::elementwise:
    case Form::rotary:
      return call_elementwise(call, wanted);
    case Form::normalization:
    case Form::batch_normalization:
    case Form::softmax:
      return call_running_over(call, wanted);
    case Form::reduction:
      return call_reduction(call, wanted);
    case Form::dropout:
      return call.option("rate", 0) == 0 ? call.operands.front()
                                         : dropout(call.operands[0], union_of(call.operands, wanted, call.place()),
                                                   wanted, call.option("rate", 0));
    case Form::attention:
      return call_attention(call, wanted);
    case Form::gather:
      return call_gather(call, wanted);
    case Form::cross_entropy:
      return call_cross_entropy(call, wanted);
    case Form::route:
      return call_route(call, wanted);
    case Form::combine:
      return call_combine(call, wanted);
    case Form::scan:
      return call_scan(call, wanted);
    case Form::concatenation:
      return call_concatenation(call, wanted);
    case Form::view:
      return call_view(call, wanted);
    case Form::custom:
      return call_custom(call, wanted);
    case Form::split:
    case Form::dispatch:
      break;
  }
  fail(expression.place, fmt::format("{} makes several tensors: it stands alone on the right side", call.row->name),
       fmt::format("(y[..], z[..]) = {}", call.row->use));
}

std::vector<Value> Compiler::evaluate_several(const Expression& expression, const std::vector<Declaration>& left) {
  Wanted wanted;
  wanted.name = prefix_ + left.front().name;
  const OperatorRow* row = expression.kind == Expression::Kind::call ? find_operator(expression.name) : nullptr;
  if (row != nullptr && row->form == Form::split) return call_split(read_call(expression, wanted), left);
  if (row != nullptr && row->form == Form::dispatch) return call_dispatch(read_call(expression, wanted), left);
  fail(left.front().place, "only split and dispatch make several tensors at once");
}

Value Compiler::call_elementwise(const Call& call, const Wanted& wanted) {
  const bool rotary = call.row->form == Form::rotary;
  if (rotary) check_axes(call, 0);
  return elementwise(std::string(call.row->name), call.operands, union_of(call.operands, wanted, call.place()),
                     call.row->keeps, wanted, call.place(), rotary ? call.axes.front() : LabelNames());
}

// A batch norm reads its operand once for the statistics and once for the result: it moves three tensors where a norm
// of one row moves two. Its gradient reads both operands twice and moves five tensors where three would be enough.
constexpr double kBatchNormPasses = 3.0 / 2;
constexpr double kBatchNormGradientPasses = 5.0 / 3;

// Returns the labels without those of the batch: a batch norm's statistics are those of the sequences that a device
// has, however many devices divide the batch.
LabelNames Compiler::not_of_batch(const LabelNames& labels, Place at) {
  LabelNames out;
  for (const std::string& label : labels) {
    if (shared_.graph.divided_by(axis_of(label, at)) != Parallelism::data) out.push_back(label);
  }
  return out;
}

// Emits normalizations and softmax, which run over some axes that no device may divide.
Value Compiler::call_running_over(const Call& call, const Wanted& wanted) {
  check_axes(call, 0);
  const LabelNames labels = union_of({call.operands.front()}, wanted, call.place());
  const bool norm = call.row->form != Form::softmax;
  const bool batch_norm = call.row->form == Form::batch_normalization;
  for (std::size_t i = 1; i < call.operands.size(); ++i) {
    if (without(call.operands[i].labels, call.operands.front().labels).empty()) continue;
    fail(call.operands[i].place, fmt::format("the weights of {} have axes of its operand only", call.row->name));
  }
  Value out = result(wanted, labels, call.place());
  Operator& op = emit(norm ? OperatorKind::normalization : OperatorKind::softmax, call.operands, {out},
                      batch_norm ? not_of_batch(call.axes.front(), call.place()) : call.axes.front());
  op.function = call.row->name;
  op.saved = {norm ? call.operands.front().tensor : out.tensor};
  if (batch_norm) {
    op.passes = kBatchNormPasses;
    op.gradient_passes = kBatchNormGradientPasses;
  }
  check_gradient(op, call.operands);
  return out;
}

Value Compiler::call_reduction(const Call& call, const Wanted& wanted) {
  check_axes(call, 0);
  const Value& x = call.operands.front();
  LabelNames labels = without(labels_read(x), call.axes.front());
  if (wanted.known) {
    Value reduced;
    reduced.labels = labels;
    labels = union_of({reduced}, wanted, call.place());
  }
  Value out = result(wanted, labels, call.place());
  Operator& op = emit(OperatorKind::reduction, {x}, {out});
  op.function = call.row->name;
  if (call.row->keeps == Keeps::operands) op.saved = {x.tensor, out.tensor};
  if (call.row->keeps != Keeps::no_derivative) {
    check_gradient(op, call.operands);
    return out;
  }
  op.has_gradient = false;
  shared_.integers.insert(out.tensor);
  if (shared_.has_gradient(x.tensor)) shared_.cut[out.tensor] = call.row->name;
  return out;
}

Value Compiler::dropout(const Value& x, const LabelNames& labels, const Wanted& wanted, double rate) {
  Value out = result(wanted, labels, x.place);
  const Value mask = second_result(tensor_of(out).name + "_mask", labels, 1, x.place);
  Operator& op = emit(OperatorKind::elementwise, {x}, {out, mask});
  op.function = "dropout";
  op.number = rate;
  op.saved = {mask.tensor};
  check_gradient(op, {x});
  return out;
}

Value Compiler::call_gather(const Call& call, const Wanted& wanted) {
  const Value& table = call.operands[0];
  const Value& ids = call.operands[1];
  check_axes(call, 0);
  if (!shared_.integers.contains(ids.tensor)) {
    fail(ids.place, "the places that gather reads are not whole numbers", "input ids[b s] int64");
  }
  for (const std::string& axis : call.axes.front()) {
    if (!holds(ids.labels, axis)) continue;
    fail(ids.place, fmt::format("gather reads along '{}', which the places have as an axis of their own", axis),
         fmt::format("{0}' is another label of the same size: gather(y[b {0}' h], ids; {0}')", axis));
  }
  LabelNames labels = ids.labels;
  for (const std::string& label : without(table.labels, call.axes.front())) {
    if (!holds(labels, label)) labels.push_back(label);
  }
  if (wanted.known) {
    Value rows = ids;
    rows.labels = labels;
    labels = union_of({rows}, wanted, call.place());
  }
  Value out = result(wanted, labels, call.place());
  Operator& op = emit(OperatorKind::gather, {table, ids}, {out}, call.axes.front());
  op.saved = {ids.tensor};
  check_gradient(op, {table});
  return out;
}

// Emits three reductions over the classes, which may be divided: the largest logit, the sum of exponentials, the
// target's logit; and the softmax, which backward reads.
Value Compiler::call_cross_entropy(const Call& call, const Wanted& wanted) {
  check_axes(call, 0);
  const Value& logits = call.operands.front();
  const LabelNames tokens = without(logits.labels, call.axes.front());
  Wanted fp32 = wanted;
  fp32.format = "fp32";
  Value target = result(fp32, tokens, call.place());
  const std::string name = tensor_of(target).name;
  const double bytes = bytes_of("fp32");
  const Value largest = second_result(name + ".largest", tokens, bytes, call.place());
  const Value sum = second_result(name + ".sum_of_exponentials", tokens, bytes, call.place());
  const Value softmax = second_result(name + ".softmax", logits.labels, bytes, call.place());
  std::vector<Value> inputs = {logits};
  if (call.operands.size() > 1) inputs.push_back(call.operands[1]);
  for (const Value& part : {target, largest, sum}) {
    shared_.graph.tensors[static_cast<std::size_t>(part.tensor)].added_for_kernel = true;
  }
  Operator& op = emit(OperatorKind::cross_entropy, inputs, {target, largest, sum, softmax});
  op.saved = {softmax.tensor};
  if (call.operands.size() > 1) op.saved.push_back(call.operands[1].tensor);
  check_gradient(op, {logits});
  return target;
}

Value Compiler::call_route(const Call& call, const Wanted& wanted) {
  check_axes(call, 0);
  const double k = call.option("k", 1);
  const std::int64_t experts = extent_of(call.axes.front().front(), call.place());
  if (k < 1 || k > static_cast<double>(experts)) {
    fail(call.place(), fmt::format("a token cannot visit {:g} of {} experts", k, experts));
  }
  Wanted fp32 = wanted;
  fp32.format = "fp32";
  Value weights = elementwise("route", call.operands, union_of(call.operands, wanted, call.place()), Keeps::result,
                              fp32, call.place(), call.axes.front());
  Operator& op = shared_.graph.operators.back();
  op.number = k;
  op.adds_parameters = true;
  return weights;
}

std::vector<Value> Compiler::call_dispatch(const Call& call, const std::vector<Declaration>& left) {
  const Value& x = call.operands[0];
  const Value& weights = call.operands[1];
  const std::string& candidates = call.axes.front().front();
  if (call.made.size() != 1 || call.made.front().size() != 1 || left.size() != 2) {
    fail(call.place(), "dispatch makes rows and their weights of one axis of experts",
         "(rows[e b s h], w[e b s]) = dispatch(x, weights; c -> e, k=per_token)");
  }
  const std::string& experts = call.made.front().front();
  if (!holds(weights.labels, candidates)) {
    fail(weights.place, fmt::format("the weights of dispatch have no axis '{}'", candidates));
  }
  const std::int64_t count = extent_of(experts, call.place());
  if (count != extent_of(candidates, call.place())) {
    fail(call.place(),
         fmt::format("sizes in conflict: {} candidates, {} experts", extent_of(candidates, call.place()), count));
  }
  const double k = call.option("k", 1);
  LabelNames tokens = without(weights.labels, {candidates});
  LabelNames rows = {experts};
  rows.insert(rows.end(), x.labels.begin(), x.labels.end());
  LabelNames row_weights = {experts};
  row_weights.insert(row_weights.end(), tokens.begin(), tokens.end());
  std::vector<Value> out;
  for (std::size_t i = 0; i < 2; ++i) {
    Wanted wanted;
    wanted.name = prefix_ + left[i].name;
    wanted.labels = names_of(left[i].labels);
    wanted.known = true;
    wanted.format = left[i].format.empty() && i == 1 ? "fp32" : left[i].format;
    Value shape;
    shape.labels = i == 0 ? rows : row_weights;
    check_labels(shape, wanted, left[i].place);
    out.push_back(result(wanted, wanted.labels, left[i].place));
    Tensor& tensor = shared_.graph.tensors[static_cast<std::size_t>(out.back().tensor)];
    tensor.density = k / static_cast<double>(count);
    tensor.sparse_along = axis_of(tokens.back(), call.place());
  }
  Operator& op = emit(OperatorKind::dispatch, {x, weights}, out, {experts, candidates});
  check_gradient(op, {x, weights});
  return out;
}

Value Compiler::call_combine(const Call& call, const Wanted& wanted) {
  check_axes(call, 0);
  Value rows = call.operands.front();
  rows.labels = without(rows.labels, call.axes.front());
  const LabelNames labels = union_of({rows}, wanted, call.place());
  Value out = result(wanted, labels, call.place());
  Operator& op = emit(OperatorKind::combine, call.operands, {out}, call.axes.front());
  Tensor& tensor = shared_.graph.tensors[static_cast<std::size_t>(out.tensor)];
  tensor.density = 1;
  tensor.sparse_along.reset();
  check_gradient(op, call.operands);
  return out;
}

Value Compiler::call_scan(const Call& call, const Wanted& wanted) {
  const Value& x = call.operands.front();
  const Value& b = call.operands[2];
  for (const auto& [over, operand] : {std::pair(call.axes[0].front(), &x), std::pair(call.axes[1].front(), &b)}) {
    if (holds(operand->labels, over)) continue;
    fail(operand->place, fmt::format("scan runs over '{}', which this operand does not have", over),
         fmt::format("it is written {}", call.row->use));
  }
  Value out = result(wanted, union_of({x}, wanted, call.place()), call.place());
  Operator& op = emit(OperatorKind::scan, call.operands, {out}, {call.axes[0].front(), call.axes[1].front()});
  op.chunk = static_cast<std::int64_t>(call.option("chunk", 256));
  for (const Value& operand : call.operands) {
    if (tensor_of(operand).role != TensorRole::parameter) op.saved.push_back(operand.tensor);
  }
  check_gradient(op, call.operands);
  return out;
}

std::vector<Value> Compiler::call_split(const Call& call, const std::vector<Declaration>& left) {
  const Value& x = call.operands.front();
  check_axes(call, 0);
  const std::string& whole = call.axes.front().front();
  if (call.made.size() != left.size()) {
    fail(call.place(), fmt::format("{} parts stand after ->, {} tensors on the left", call.made.size(), left.size()));
  }
  std::int64_t sum = 0;
  std::vector<Value> out;
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (call.made[i].size() != 1) fail(call.place(), "each part of split is one axis");
    sum += extent_of(call.made[i].front(), call.place());
    Wanted wanted;
    wanted.name = prefix_ + left[i].name;
    wanted.labels = names_of(left[i].labels);
    wanted.known = true;
    wanted.format = left[i].format;
    Value part = x;
    std::replace(part.labels.begin(), part.labels.end(), whole, call.made[i].front());
    check_labels(part, wanted, left[i].place);
    out.push_back(result(wanted, part.labels, left[i].place));
  }
  if (sum != extent_of(whole, call.place())) {
    fail(call.place(), fmt::format("sizes in conflict: the parts are {} together, {} is {}", sum, whole,
                                   extent_of(whole, call.place())));
  }
  Operator& op = emit(OperatorKind::view, {x}, out);
  op.function = "split";
  return out;
}

Value Compiler::call_concatenation(const Call& call, const Wanted& wanted) {
  const std::string& whole = call.axes.front().front();
  LabelNames labels = wanted.labels;
  if (!wanted.known || !holds(labels, whole)) {
    fail(call.place(), fmt::format("which labels the result has is not said here, '{}' among them", whole),
         "concat(x, y; a)[b s a]");
  }
  std::int64_t sum = 0;
  LabelNames parts;
  for (const Value& operand : call.operands) {
    const LabelNames own = without(operand.labels, labels);
    if (own.size() != 1 || holds(operand.labels, whole)) {
      fail(operand.place,
           fmt::format("an operand of concat has the labels of the result, with a part in place of '{}'", whole));
    }
    sum += extent_of(own.front(), operand.place);
    if (!holds(parts, own.front())) parts.push_back(own.front());
  }
  if (sum != extent_of(whole, call.place())) {
    fail(call.place(), fmt::format("sizes in conflict: the parts are {} together, {} is {}", sum, whole,
                                   extent_of(whole, call.place())));
  }
  return elementwise("concat", call.operands, labels, Keeps::nothing, wanted, call.place(), parts);
}

// Emits a view: the same elements in the same order, with consecutive labels replaced by others of the same total size.
Value Compiler::call_view(const Call& call, const Wanted& wanted) {
  const Value& x = call.operands.front();
  check_axes(call, 0);
  const LabelNames& from = call.axes.front();
  if (call.made.size() != 1) fail(call.place(), "view makes one group of axes of another", "view(x; i j -> s)");
  const LabelNames& to = call.made.front();
  const auto first = std::search(x.labels.begin(), x.labels.end(), from.begin(), from.end());
  if (first == x.labels.end()) {
    fail(call.place(), "the axes of view stand side by side in its operand, in this order");
  }
  double before = 1;
  double after = 1;
  for (const std::string& label : from) before *= static_cast<double>(extent_of(label, call.place()));
  for (const std::string& label : to) after *= static_cast<double>(extent_of(label, call.place()));
  if (before != after) {
    fail(call.place(), fmt::format("sizes in conflict: {:.0f} elements become {:.0f}", before, after));
  }
  LabelNames labels(x.labels.begin(), first);
  labels.insert(labels.end(), to.begin(), to.end());
  labels.insert(labels.end(), first + static_cast<std::ptrdiff_t>(from.size()), x.labels.end());
  Value out = result(wanted, labels, call.place());
  emit(OperatorKind::view, {x}, {out}).function = "view";
  return out;
}

Value Compiler::call_custom(const Call& call, const Wanted& wanted) {
  if (!wanted.known) {
    fail(call.place(), "which labels the result of custom has is not said here", "custom(x; flop=..)[b s h]");
  }
  Value out = result(wanted, wanted.labels, call.place());
  std::vector<Value> outputs = {out};
  double elements = 1;
  for (const Axis axis : tensor_of(out).axes) elements *= static_cast<double>(shared_.graph.extent(axis));
  const double saved = call.option("saved_bytes", 0);
  if (saved > 0) {
    outputs.push_back(second_result(tensor_of(out).name + ".saved", out.labels, saved / elements, call.place()));
  }
  Operator& op = emit(OperatorKind::custom, call.operands, outputs);
  op.function = "custom";
  op.custom = {call.option("flop", 0), call.option("bytes", 0),
               call.option("gradient_flop", 2 * call.option("flop", 0)),
               call.option("gradient_bytes", 2 * call.option("bytes", 0))};
  if (saved > 0) op.saved = {outputs.back().tensor};
  check_gradient(op, call.operands);
  return out;
}

}  // namespace mirfak::block
