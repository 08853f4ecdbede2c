#include "graph/operator_graph.hpp"

#include "support/graph_writer.hpp"

#include <doctest/doctest.h>

using namespace mirfak;
using namespace mirfak::test;

TEST_CASE("axes and tags are names of their graph") {
  OperatorGraph graph;
  graph.name = "block";
  const Axis tokens = graph.add_axis({"tokens", 8, Parallelism::tokens, {}});
  const Axis keys = graph.add_axis({"tokens'", 8, Parallelism::none, tokens});
  CHECK(graph.axis("tokens") == tokens);
  CHECK(graph.info(keys).same_as == tokens);
  CHECK_FALSE(graph.find_axis("heads").has_value());
  CHECK_THROWS_WITH(graph.axis("heads"), doctest::Contains("no axis heads"));
  CHECK_THROWS_WITH(graph.add_axis({"tokens", 4, Parallelism::none, {}}), doctest::Contains("two axes tokens"));

  const Tag qkv = graph.tag("qkv");
  CHECK(graph.tag("proj") != qkv);
  CHECK(graph.tag("qkv") == qkv);
  CHECK_FALSE(graph.find_tag("fc1").has_value());
}

TEST_CASE("a graph has at most so many axes, a tensor so many labels") {
  OperatorGraph graph;
  for (std::size_t i = 0; i < kMaxAxes; ++i) graph.add_axis({"a" + std::to_string(i), 2, Parallelism::none, {}});
  CHECK_THROWS_WITH(graph.add_axis({"more", 2, Parallelism::none, {}}), doctest::Contains("more than 64 axes"));
  AxisLabels labels;
  for (std::size_t i = 0; i < kMaxRank; ++i) labels.push_back(static_cast<Axis>(i));
  CHECK_THROWS(labels.push_back(Axis{0}));
}

TEST_CASE("inline lists compare, insert and hold like vectors") {
  AxisLabels labels = {Axis{1}, Axis{3}};
  labels.insert(labels.begin() + 1, Axis{2});
  CHECK(labels == AxisLabels{Axis{1}, Axis{2}, Axis{3}});
  CHECK(labels.contains(Axis{2}));
  CHECK_FALSE(labels.contains(Axis{4}));
  CHECK(AxisLabels{Axis{1}} < AxisLabels{Axis{1}, Axis{0}});
  CHECK(AxisLabels(labels.begin() + 1, labels.end()) == AxisLabels{Axis{2}, Axis{3}});
}

// y[b i j o] = x[b 2i+p-1 2j+q-1 c] w[p q c o], 56 x 56 -> 28 x 28, as in a residual network.
TEST_CASE("a convolution multiplies taps, channels and places, forward and in both gradients") {
  GraphWriter w;
  const Axis b = w.axis("b", 4), u = w.axis("u", 56), v = w.axis("v", 56), c = w.axis("c", 64);
  const Axis i = w.axis("i", 28), j = w.axis("j", 28), o = w.axis("o", 128), p = w.axis("p", 3), q = w.axis("q", 3);
  const TensorId x = w.stream("x", {b, u, v, c});
  const TensorId y = w.activation("y", {b, i, j, o});
  Operator& product = w.op("conv", OperatorKind::einsum, {x, w.parameter("w", {p, q, c, o})}, {y});
  product.inputs[0].windows = {{1, i, p, 2, 1, -1}, {2, j, q, 2, 1, -1}};
  w.graph.outputs = {y};
  const OperatorGraph graph = with_backward(std::move(w.graph), {});

  const double expected = 4.0 * 28 * 28 * 128 * 3 * 3 * 64;
  for (const char* name : {"conv", "d_conv", "d_conv_weight"}) {
    const Operator* op = find(graph, name);
    REQUIRE(op != nullptr);
    CHECK(multiplications(graph, *op) == expected);
    CHECK(must_be_whole(*op, u));
    CHECK(must_be_whole(*op, v));
    CHECK_FALSE(must_be_whole(*op, b));
    CHECK_FALSE(must_be_whole(*op, o));
  }
  const EinsumLabels forward = classify_labels(*find(graph, "conv"));
  CHECK(forward.rows == AxisLabels{b, i, j});
  CHECK(forward.columns == AxisLabels{o});
  CHECK(forward.contracted == AxisLabels{p, q, c});
}

TEST_CASE("what a kernel needs whole follows from what it runs over") {
  GraphWriter w;
  const Axis b = w.axis("b", 2), s = w.axis("s", 8), t = w.axis("t", 8), d = w.axis("d", 4), h = w.axis("h", 4);
  Operator attention;
  attention.kind = OperatorKind::attention;
  attention.over = {s, t, d};
  CHECK_FALSE(must_be_whole(attention, s));
  CHECK(must_be_whole(attention, t));
  CHECK(must_be_whole(attention, d));
  CHECK_FALSE(must_be_whole(attention, b));
  for (const auto kind : {OperatorKind::softmax, OperatorKind::normalization, OperatorKind::dispatch,
                          OperatorKind::combine, OperatorKind::scan, OperatorKind::custom}) {
    Operator op;
    op.kind = kind;
    op.over = {h};
    CHECK_MESSAGE(must_be_whole(op, h), name_of(kind));
    CHECK_MESSAGE(!must_be_whole(op, b), name_of(kind));
  }
}

TEST_CASE("roles of attention's labels: grouped queries, values of their own width, keys of another stream") {
  GraphWriter w;
  const Axis b = w.axis("b", 2, Parallelism::data), s = w.axis("s", 8), t = w.axis("t", 5);
  const Axis k = w.axis("k", 4, Parallelism::tensor), g = w.axis("g", 2), d = w.axis("d", 16), e = w.axis("e", 32);
  const TensorId query = w.activation("q", {b, s, k, g, d});
  const TensorId key = w.activation("k", {b, t, k, d});
  const TensorId value = w.activation("v", {b, t, k, e});
  Operator& op = w.op("attention", OperatorKind::attention, {query, key, value}, {w.activation("c", {b, s, k, g, e})});
  op.over = {s, t, d};
  const AttentionLabels labels = classify_attention(w.graph, op);
  CHECK(labels.queries == s);
  CHECK(labels.keys == t);
  CHECK(labels.batch == AxisLabels{b});
  CHECK(labels.kv_heads == AxisLabels{k});
  CHECK(labels.groups == AxisLabels{g});
  CHECK(labels.width == d);
  CHECK(labels.value == AxisLabels{e});
}
