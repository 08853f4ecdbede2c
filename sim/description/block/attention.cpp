// Attention, as one operator or as its products, softmax and copies.

#include "block/compiler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mirfak::block {

namespace {

LabelNames replaced(LabelNames labels, const std::string& from, const std::string& to) {
  std::replace(labels.begin(), labels.end(), from, to);
  return labels;
}

LabelNames without(const LabelNames& labels, const std::string& dropped) {
  LabelNames out;
  std::copy_if(labels.begin(), labels.end(), std::back_inserter(out),
               [&](const std::string& label) { return label != dropped; });
  return out;
}

}  // namespace

Value Compiler::call_attention(const Call& call, const Wanted& wanted) {
  const std::string& queries = call.axes[0].front();
  const std::string& keys = call.axes[1].front();
  const Value& q = call.operands[0];
  const Value& k = call.operands[1];
  const Value& v = call.operands[2];
  for (const auto& [operand, tokens] : {std::pair(&q, queries), std::pair(&k, keys), std::pair(&v, keys)}) {
    if (holds(operand->labels, tokens)) continue;
    fail(operand->place, fmt::format("attention runs over '{}', which this operand does not have", tokens),
         fmt::format("it is written {}", call.row->use));
  }
  if (q.labels.back() != k.labels.back()) {
    fail(k.place,
         fmt::format("queries and keys are multiplied over their last axis, which is {} of queries, {} of keys",
                     q.labels.back(), k.labels.back()));
  }
  for (const Value* operand : {&k, &v}) {
    for (const std::string& label : operand->labels) {
      const bool known = label == keys || label == operand->labels.back() || holds(q.labels, label);
      if (!known) fail(operand->place, fmt::format("queries lack the label '{}'", label));
    }
  }
  if (call.operands.size() > 3) check_sinks(call.operands[3], q);
  if (!shared_.options.fused_attention) return unfused_attention(call, wanted);

  Value context = q;
  context.labels = replaced(q.labels, q.labels.back(), v.labels.back());
  const LabelNames labels = union_of({context}, wanted, call.place());
  Value out = result(wanted, labels, call.place());
  const Value statistics = second_result(tensor_of(out).name + ".logsumexp", without(q.labels, q.labels.back()),
                                         bytes_of("fp32"), call.place());
  Operator& op = emit(OperatorKind::attention, call.operands, {out, statistics}, {queries, keys, q.labels.back()});
  op.saved = {q.tensor, k.tensor, v.tensor, out.tensor, statistics.tensor};
  op.causal = call.option("causal", 0) != 0;
  op.window = static_cast<std::int64_t>(call.option("window", 0));
  op.matmuls = 2;
  check_gradient(op, call.operands);
  return out;
}

// Checks sinks: one logit for each head, the same for all tokens.
void Compiler::check_sinks(const Value& sinks, const Value& queries) const {
  const bool parameter = tensor_of(sinks).role == TensorRole::parameter;
  if (!parameter) fail(sinks.place, "the sinks of attention are parameters", "param sinks[k g]");
  for (const std::string& label : sinks.labels) {
    const bool of_heads = holds(queries.labels, label) && label != queries.labels.back();
    if (!of_heads) fail(sinks.place, fmt::format("sinks lie along heads, not along '{}'", label));
  }
}

// Emits scores of every query with every key, their softmax, and the values mixed by it.
Value Compiler::unfused_attention(const Call& call, const Wanted& wanted) {
  const std::string& queries = call.axes[0].front();
  const std::string& keys = call.axes[1].front();
  const Value& q = call.operands[0];
  const Value& v = call.operands[2];
  LabelNames square = without(without(q.labels, queries), q.labels.back());
  square.push_back(queries);
  square.push_back(keys);
  Value p = product(q, call.operands[1], square, part_of(wanted, "scores"));
  const bool causal = call.option("causal", 0) != 0;
  const bool masked = causal || call.option("masked", 0) != 0;
  p = elementwise("scale", {p}, square, Keeps::nothing, part_of(wanted, "scaled"), call.place());
  shared_.graph.operators.back().number = 1 / std::sqrt(static_cast<double>(extent_of(q.labels.back(), q.place)));
  if (masked) p = elementwise("mask", {p}, square, Keeps::nothing, part_of(wanted, "masked"), call.place());
  if (call.operands.size() > 3) {  // one more column, next to the scores
    const TensorId scores = p.tensor;
    p = elementwise("add", {p, call.operands[3]}, square, Keeps::nothing, part_of(wanted, "with_sinks"), call.place());
    shared_.graph.operators.back().adds_parameters = true;
    shared_.graph.operators.back().passes_gradient = {scores, call.operands[3].tensor};
  }
  const Value probabilities = result(part_of(wanted, "probabilities"), square, call.place());
  Operator& softmax = emit(OperatorKind::softmax, {p}, {probabilities}, {keys});
  softmax.saved = {probabilities.tensor};
  softmax.causal = causal;
  p = probabilities;
  const double rate = call.option("dropout", 0);
  if (rate > 0) p = dropout(p, square, part_of(wanted, "dropout"), rate);
  Value context = q;
  context.labels = replaced(q.labels, q.labels.back(), v.labels.back());
  const LabelNames labels = union_of({context}, wanted, call.place());
  const Value mixed = product(p, v, labels, part_of(wanted, "context"));
  // The products leave heads before tokens: a copy puts the heads of a token together.
  return elementwise("gather_heads", {mixed}, labels, Keeps::nothing, wanted, call.place());
}

}  // namespace mirfak::block
