#include "graph/fusion.hpp"

#include "support/graph_writer.hpp"

#include <doctest/doctest.h>

using namespace mirfak;
using namespace mirfak::test;

namespace {

// out = dropout(y + bias) + x, written as three operators; without dropout as two.
OperatorGraph branch_end(bool dropout) {
  GraphWriter w;
  const Axis s = w.axis("s", 8), h = w.axis("h", 4);
  const TensorId y = w.stream("y", {s, h});
  const TensorId x = w.stream("x", {s, h});
  const TensorId bias = w.parameter("bias", {h});
  TensorId t = w.activation("t", {s, h});
  Operator& sum = w.op("add_bias", OperatorKind::elementwise, {y, bias}, {t});
  sum.function = "add";
  sum.passes_gradient = {y, bias};
  if (dropout) {
    const TensorId u = w.activation("u", {s, h});
    const TensorId mask = w.activation("mask", {s, h});
    w.graph.tensors[static_cast<std::size_t>(mask)].bytes_per_element = 1;
    Operator& dropped = w.op("drop", OperatorKind::elementwise, {t}, {u, mask});
    dropped.function = "dropout";
    dropped.saved = {mask};
    t = u;
  }
  const TensorId out = w.activation("out", {s, h});
  Operator& added = w.op("add_residual", OperatorKind::elementwise, {t, x}, {out});
  added.function = "add";
  added.passes_gradient = {t, x};
  w.graph.outputs = {out};
  return std::move(w.graph);
}

using Names = std::vector<std::string>;

Names names(const OperatorGraph& graph, const auto& ids) {
  Names out;
  for (const TensorId id : ids) out.push_back(graph.tensor(id).name);
  return out;
}
Names operands(const OperatorGraph& graph, const std::vector<Operand>& list) {
  Names out;
  for (const Operand& operand : list) out.push_back(graph.tensor(operand.tensor).name);
  return out;
}
Names operators(const OperatorGraph& graph) {
  Names out;
  for (const Operator& op : graph.operators) out.push_back(op.function.empty() ? op.name : op.function);
  return out;
}

const FusionRules kBranchEnd = {
    .chains = {{{"bias?", "dropout?", "add"}}}, .epilogues = {}, .packed_tags = {}, .group_tags = {}};

}  // namespace

TEST_CASE("a chain moves what lies outside once, and keeps its mask alone") {
  const OperatorGraph graph = fuse(branch_end(true), kBranchEnd);
  REQUIRE(operators(graph) == Names{"add+dropout+add"});
  const Operator& op = graph.operators.front();
  CHECK(operands(graph, op.inputs) == Names{"y", "bias", "x"});
  CHECK(operands(graph, op.outputs) == Names{"out", "mask"});
  CHECK(names(graph, op.saved) == Names{"mask"});
  CHECK(names(graph, op.passes_gradient) == Names{"x"});
  CHECK(graph.tensors.size() == 5);  // t and u are gone

  const OperatorGraph whole = with_backward(graph, {});
  const ActivationPlan plan = plan_activations(whole, {});
  CHECK(names(whole, plan.kept) == Names{"mask"});
  REQUIRE(find(whole, "d_add_residual") != nullptr);
  CHECK(operands(whole, find(whole, "d_add_residual")->outputs) == Names{"d_y"});
}

TEST_CASE("parts with a question mark may be missing; a chain of sums passes gradients on") {
  const OperatorGraph graph = fuse(branch_end(false), kBranchEnd);
  REQUIRE(operators(graph) == Names{"add+add"});
  CHECK(names(graph, graph.operators.front().passes_gradient) == Names{"y", "bias", "x"});
  CHECK(graph.operators.front().saved.empty());
}

TEST_CASE("a rule whose parts do not stand in a row does nothing") {
  CHECK(fuse(branch_end(true), {{{{"bias", "gelu"}}}, {}, {}, {}}).operators.size() == 3);
  CHECK(fuse(branch_end(false), {{{{"bias", "dropout", "add"}}}, {}, {}, {}}).operators.size() == 2);
  CHECK(fuse(branch_end(true), {}).operators.size() == 3);
}

TEST_CASE("what something else reads is not fused away") {
  OperatorGraph graph = branch_end(false);
  graph.outputs.push_back(graph.operators.front().outputs.front().tensor);
  CHECK(fuse(std::move(graph), kBranchEnd).operators.size() == 2);
}

// silu(u) * v: two kernels move 5 tensors, one moves 3 and computes silu(u) again backward.
TEST_CASE("inside a kernel nothing is kept: its gradient reads what it was made of") {
  GraphWriter w;
  const Axis s = w.axis("s", 8), f = w.axis("f", 16);
  const TensorId x = w.stream("x", {s, f});
  const TensorId u = w.activation("u", {s, f}), v = w.activation("v", {s, f});
  w.op("make", OperatorKind::elementwise, {x}, {u, v});
  const TensorId gate = w.activation("gate", {s, f});
  Operator& silu = w.op("silu", OperatorKind::elementwise, {u}, {gate});
  silu.function = "silu";
  silu.saved = {u};
  const TensorId y = w.activation("y", {s, f});
  Operator& product = w.op("multiply", OperatorKind::elementwise, {gate, v}, {y});
  product.function = "multiply";
  product.saved = {gate, v};
  w.graph.outputs = {y};

  const auto kept = [](OperatorGraph graph) {
    const OperatorGraph whole = with_backward(std::move(graph), {});
    return names(whole, plan_activations(whole, {}).kept);
  };
  CHECK(kept(w.graph) == Names{"u", "v", "gate"});
  const OperatorGraph graph = fuse(w.graph, {{{{"silu", "multiply"}, 5.0 / 3, 9.0 / 5}}, {}, {}, {}});
  CHECK(kept(graph) == Names{"u", "v"});
  CHECK(graph.operators.back().passes == 5.0 / 3);
  CHECK(graph.operators.back().gradient_passes == 9.0 / 5);
}

TEST_CASE("tags and kinds are words too; a kernel has the tags that all its parts have") {
  GraphWriter w;
  const Axis s = w.axis("s", 8), t = w.axis("t", 8);
  const TensorId x = w.stream("x", {s, t});
  const TensorId scaled = w.activation("scaled", {s, t}), y = w.activation("y", {s, t});
  const Tag core = w.graph.tag("core_attn");
  const Tag other = w.graph.tag("other");
  Operator& scale = w.op("scale", OperatorKind::elementwise, {x}, {scaled});
  scale.tags.insert(core);
  scale.tags.insert(other);
  Operator& softmax = w.op("softmax", OperatorKind::softmax, {scaled}, {y});
  softmax.over = {t};
  softmax.saved = {y};
  softmax.tags.insert(core);
  w.graph.outputs = {y};
  const OperatorGraph graph = fuse(w.graph, {{{{"@core_attn", "softmax"}, 0.75}}, {}, {}, {}});
  REQUIRE(graph.operators.size() == 1);
  const Operator& op = graph.operators.front();
  CHECK(op.kind == OperatorKind::softmax);
  CHECK(op.over == AxisLabels{t});
  CHECK(op.passes == 0.75);
  CHECK(op.tags.contains(core));
  CHECK_FALSE(op.tags.contains(other));
}

// q[s k g d], k[s k d] and v[s k d] of the same x: one product with a weight [h k d (g + 2)].
TEST_CASE("products of one operand are packed: as many FLOPs and parameters, one kernel") {
  GraphWriter w;
  const Axis s = w.axis("s", 8), h = w.axis("h", 32), k = w.axis("k", 2), g = w.axis("g", 4), d = w.axis("d", 8);
  const TensorId x = w.stream("x", {s, h});
  const TensorId query = w.activation("q", {s, k, g, d});
  const TensorId key = w.activation("k", {s, k, d}), value = w.activation("v", {s, k, d});
  const Tag tag = w.graph.tag("qkv");
  const std::vector<std::pair<TensorId, TensorId>> products = {{w.parameter("wq", {h, k, g, d}), query},
                                                               {w.parameter("wk", {h, k, d}), key},
                                                               {w.parameter("wv", {h, k, d}), value}};
  for (const auto& [weight, result] : products) {
    Operator& op = w.op("product", OperatorKind::einsum, {x, weight}, {result});
    op.linear = true;
    op.tags.insert(tag);
  }
  const TensorId y = w.activation("y", {s});
  w.op("use", OperatorKind::elementwise, {query, key, value}, {y}).saved = {query, key, value};
  w.graph.outputs = {y};
  const auto totals = [](const OperatorGraph& graph) {
    double parameters = 0;
    double work = 0;
    for (const Tensor& tensor : graph.tensors) {
      const auto id = static_cast<TensorId>(&tensor - graph.tensors.data());
      if (tensor.role == TensorRole::parameter) parameters += static_cast<double>(graph.elements(id));
    }
    for (const Operator& op : graph.operators) {
      if (op.kind == OperatorKind::einsum) work += multiplications(graph, op);
    }
    return std::pair(parameters, work);
  };
  const OperatorGraph packed = fuse(w.graph, {{}, {}, {"qkv"}, {}});
  CHECK(operators(packed) == Names{"qkv", "split", "use"});
  CHECK(totals(packed) == totals(w.graph));
  const Axis columns = packed.axis("qkv_packed");
  CHECK(packed.extent(columns) == 4 + 1 + 1);
  CHECK(packed.tensor(packed.operators[0].inputs[1].tensor).axes == AxisLabels{h, k, d, columns});
  CHECK(operands(packed, packed.operators[1].outputs) == Names{"q", "k", "v"});
  CHECK(totals(with_backward(packed, {})).second == totals(with_backward(w.graph, {})).second);
}

// A projection of heads and one of a vector that all heads share: were they one, ranks could not divide the heads.
TEST_CASE("products whose columns are divided differently stay apart") {
  GraphWriter w;
  const Axis s = w.axis("s", 8), h = w.axis("h", 32), r = w.axis("r", 4, Parallelism::tensor), n = w.axis("n", 16);
  const TensorId x = w.stream("x", {s, h});
  const TensorId heads = w.activation("heads", {s, r}), gates = w.activation("gates", {s, r});
  const TensorId shared = w.activation("shared", {s, n});
  const Tag tag = w.graph.tag("in_proj");
  for (const auto& [result, columns] : {std::pair(heads, r), std::pair(shared, n), std::pair(gates, r)}) {
    Operator& op = w.op("product", OperatorKind::einsum, {x, w.parameter("w", {h, columns})}, {result});
    op.linear = true;
    op.tags.insert(tag);
  }
  const TensorId y = w.activation("y", {s});
  w.op("use", OperatorKind::elementwise, {heads, gates, shared}, {y});
  w.graph.outputs = {y};
  const OperatorGraph graph = fuse(std::move(w.graph), {{}, {}, {"in_proj"}, {}});
  CHECK(operators(graph) == Names{"in_proj", "split", "product", "use"});
  CHECK(graph.extent(graph.axis("in_proj_packed")) == 2);
}

TEST_CASE("an epilogue is done by the product before it") {
  GraphWriter w;
  const Axis s = w.axis("s", 8), h = w.axis("h", 4), f = w.axis("f", 16);
  const TensorId x = w.stream("x", {s, h});
  const TensorId u = w.activation("u", {s, f}), y = w.activation("y", {s, f});
  w.op("up", OperatorKind::einsum, {x, w.parameter("w", {h, f})}, {u});
  Operator& bias = w.op("bias", OperatorKind::elementwise, {u, w.parameter("b", {f})}, {y});
  bias.function = "add";
  bias.passes_gradient = {u};
  w.graph.outputs = {y};
  CHECK_FALSE(fuse(w.graph, {}).operators.back().part_of_kernel);
  CHECK(fuse(w.graph, {{}, {"bias"}, {}, {}}).operators.back().part_of_kernel);
}
