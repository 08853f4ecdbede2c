#include "graph/backward.hpp"

#include "support/graph_writer.hpp"

#include <doctest/doctest.h>

namespace backward_test {

using namespace mirfak;
using namespace mirfak::test;

namespace {

// Contributions to gradients: what operators of the backward pass read and write, by name.
std::vector<std::string> names(const OperatorGraph& graph, const std::vector<Operand>& operands) {
  std::vector<std::string> out;
  for (const Operand& operand : operands) out.push_back(graph.tensor(operand.tensor).name);
  return out;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("the gradient of a broadcast is a sum") {
  GraphWriter w;
  const Axis b = w.axis("b", 2), s = w.axis("s", 8), h = w.axis("h", 4);
  const TensorId x = w.stream("x", {b, s, h});
  const TensorId scale = w.activation("row", {b, h});
  w.op("make_row", OperatorKind::elementwise, {w.stream("condition", {b, h})}, {scale});
  const TensorId y = w.activation("y", {b, s, h});
  w.op("add", OperatorKind::elementwise, {x, scale}, {y}).passes_gradient = {x, scale};
  w.graph.outputs = {y};
  const OperatorGraph graph = with_backward(std::move(w.graph), {});
  const Operator* sum = find(graph, "sum_d_row");
  REQUIRE(sum != nullptr);
  CHECK(sum->kind == OperatorKind::reduction);
  CHECK(sum->phase == Phase::activation_gradient);
  CHECK(names(graph, sum->inputs) == Names{"d_y"});
  CHECK(names(graph, sum->outputs) == Names{"d_row"});
  CHECK(sum->outputs[0].labels == AxisLabels{b, h});
  // The gradient of x is the gradient of the sum itself: no kernel but that of the row.
  CHECK(names(graph, find(graph, "d_make_row")->inputs) == Names{"d_row"});
}

TEST_CASE("a stream that passes through gathers its gradients") {
  GraphWriter w;
  const Axis s = w.axis("s", 8), t = w.axis("t", 6), h = w.axis("h", 4);
  const TensorId x = w.stream("x", {s, h});
  const TensorId memory = w.stream("memory", {t, h});
  const TensorId y = w.activation("y", {s, t});
  w.op("scores", OperatorKind::einsum, {x, memory}, {y});
  w.graph.outputs = {y, memory};
  const OperatorGraph graph = with_backward(std::move(w.graph), {});
  const Operator* added = find(graph, "add_gradients_memory");
  REQUIRE(added != nullptr);
  CHECK(names(graph, added->inputs) == Names{"d_memory", "d_memory"});
  CHECK(find(graph, "add_gradients_x") == nullptr);
}

TEST_CASE("a scan's gradient is one call that reads what is saved and writes all its operands' gradients") {
  GraphWriter w;
  const Axis b = w.axis("b", 2, Parallelism::data), s = w.axis("s", 64), h = w.axis("h", 8), p = w.axis("p", 16);
  const Axis n = w.axis("n", 32), g = w.axis("g", 1);
  const TensorId x = w.activation("x", {b, s, g, h, p});
  const TensorId step = w.activation("step", {b, s, g, h});
  const TensorId in = w.activation("in", {b, s, g, n});
  const TensorId out = w.activation("out", {b, s, g, n});
  const TensorId source = w.stream("source", {b, s});
  w.op("project", OperatorKind::elementwise, {source}, {x, step, in, out});
  const TensorId y = w.activation("y", {b, s, g, h, p});
  Operator& scan = w.op("scan", OperatorKind::scan, {x, step, in, out, w.parameter("skip", {g, h})}, {y});
  scan.over = {s, n};
  scan.chunk = 16;
  scan.saved = {x, step, in, out};
  w.graph.outputs = {y};
  const OperatorGraph graph = with_backward(std::move(w.graph), {});
  const Operator* gradient = find(graph, "d_scan");
  REQUIRE(gradient != nullptr);
  CHECK(names(graph, gradient->inputs) == Names{"d_y", "x", "step", "in", "out"});
  CHECK(names(graph, gradient->outputs) == Names{"d_x", "d_step", "d_in", "d_out", "d_skip_of_tokens"});
  CHECK(gradient->chunk == 16);
  CHECK(names(graph, find(graph, "d_scan_parameters")->inputs) == Names{"d_skip_of_tokens"});
  CHECK(names(graph, find(graph, "d_scan_parameters")->outputs) == Names{"d_skip"});
  for (const Operator* op : {find(graph, "scan"), gradient}) {
    const ScanLabels labels = classify_scan(graph, *op);
    CHECK(labels.tokens == s);
    CHECK(labels.state == n);
    CHECK(labels.batch == AxisLabels{b});
    CHECK(labels.groups == AxisLabels{g});
    CHECK(labels.heads == AxisLabels{h});
    CHECK(labels.width == AxisLabels{p});
    CHECK(must_be_whole(*op, s));
  }
  // Backward keeps the tensors that the gradient reads, so not y.
  const ActivationPlan plan = plan_activations(graph, {});
  CHECK(plan.kept == std::vector<TensorId>{x, step, in, out});
}

TEST_CASE("the gradient of a maximum is spread over what it was the maximum of") {
  GraphWriter w;
  const Axis s = w.axis("s", 8), h = w.axis("h", 4);
  const TensorId x = w.stream("x", {s, h});
  const TensorId y = w.activation("y", {s});
  Operator& op = w.op("max", OperatorKind::reduction, {x}, {y});
  op.function = "max";
  op.saved = {x, y};
  w.graph.outputs = {y};
  const OperatorGraph graph = with_backward(std::move(w.graph), {});
  const Operator* gradient = find(graph, "d_max");
  REQUIRE(gradient != nullptr);
  CHECK(gradient->kind == OperatorKind::elementwise);
  CHECK(names(graph, gradient->inputs) == Names{"d_y", "x", "y"});
}

TEST_CASE("no gradient passes a choice") {
  GraphWriter w;
  const Axis s = w.axis("s", 8), h = w.axis("h", 4);
  const TensorId x = w.stream("x", {s, h});
  const TensorId chosen = w.activation("chosen", {s, h});
  w.op("choose", OperatorKind::elementwise, {x}, {chosen}).has_gradient = false;
  const TensorId y = w.activation("y", {s, h});
  w.op("multiply", OperatorKind::elementwise, {x, chosen}, {y}).saved = {x, chosen};
  w.graph.outputs = {y};
  const OperatorGraph graph = with_backward(std::move(w.graph), {});
  REQUIRE(find(graph, "d_multiply") != nullptr);
  CHECK(names(graph, find(graph, "d_multiply")->outputs) == Names{"d_x"});
  CHECK(find(graph, "d_choose") == nullptr);
}

TEST_CASE("custom operators have the work of their gradients stated") {
  GraphWriter w;
  const Axis s = w.axis("s", 8);
  const TensorId x = w.stream("x", {s});
  const TensorId y = w.activation("y", {s});
  w.op("kernel", OperatorKind::custom, {x}, {y}).custom = {100, 10, 250, 30};
  w.graph.outputs = {y};
  const OperatorGraph graph = with_backward(std::move(w.graph), {});
  const Operator* gradient = find(graph, "d_kernel");
  REQUIRE(gradient != nullptr);
  CHECK(gradient->kind == OperatorKind::custom);
  CHECK(gradient->custom.flop == 250);
  CHECK(gradient->custom.bytes == 30);
}

TEST_CASE("every other product keeps what it makes, and so does attention") {
  GraphWriter w;
  const Axis s = w.axis("s", 8);
  const Axis h = w.axis("h", 4);
  const Axis f = w.axis("f", 4);
  TensorId last = w.stream("x", {s, h});
  std::vector<TensorId> made;
  for (int i = 0; i < 4; ++i) {
    const std::string name = std::to_string(i);
    const TensorId weight = w.parameter(("w" + name).c_str(), i % 2 == 0 ? AxisLabels{h, f} : AxisLabels{f, h});
    const TensorId product = w.activation(("y" + name).c_str(), {s, i % 2 == 0 ? f : h});
    w.op(("product" + name).c_str(), OperatorKind::einsum, {last, weight}, {product}).linear = true;
    made.push_back(product);
    last = w.activation(("z" + name).c_str(), {s, i % 2 == 0 ? f : h});
    w.op(("function" + name).c_str(), OperatorKind::elementwise, {product}, {last});
    made.push_back(last);
  }
  w.graph.outputs = {last};
  // Kept: the first and the third product, and the output of the block, which no gradient reads.
  CHECK(all_but_alternate_products(w.graph) == std::vector<TensorId>{made[1], made[2], made[3], made[5], made[6]});
}

TEST_CASE("tags say what recomputation drops: what a part makes for itself, or its results too") {
  GraphWriter w;
  const Axis s = w.axis("s", 8);
  const TensorId x = w.stream("x", {s});
  const TensorId inner = w.activation("inner", {s});
  const TensorId result = w.activation("result", {s});
  const TensorId y = w.activation("y", {s});
  const Tag tag = w.graph.tag("core");
  w.op("first", OperatorKind::elementwise, {x}, {inner}).tags.insert(tag);
  w.op("second", OperatorKind::elementwise, {inner}, {result}).tags.insert(tag);
  w.op("third", OperatorKind::elementwise, {result}, {y});
  CHECK(tensors_under(w.graph, "core", Produced::inside) == std::vector<TensorId>{inner});
  CHECK(tensors_under(w.graph, "core", Produced::with_results) == std::vector<TensorId>{inner, result});
  CHECK(tensors_under(w.graph, "absent", Produced::with_results).empty());

  // A cast for the second operator reads what the first made, and what it makes is kept: neither is dropped.
  const TensorId narrow = w.activation("narrow", {s});
  Operator& cast = w.op("cast", OperatorKind::elementwise, {inner}, {narrow});
  cast.tags.insert(tag);
  cast.auxiliary = true;
  CHECK(tensors_under(w.graph, "core", Produced::inside).empty());
  CHECK(tensors_under(w.graph, "core", Produced::with_results) == std::vector<TensorId>{inner, result});
}

}  // namespace backward_test
