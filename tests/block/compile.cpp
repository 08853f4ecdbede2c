// Consequences of the text of a block: operators, their labels, what backward keeps, parameters and FLOPs, by
// arithmetic that a reader can check.

#include "block/measures.hpp"
#include "block/parser.hpp"
#include "block/sizes.hpp"
#include "block_fixture.hpp"
#include "graph/adapters.hpp"
#include "graph/backward.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

using namespace mirfak;
using test::built_in;
using test::compiled;
using test::find;

namespace {

double kept_bytes(const OperatorGraph& forward) {
  const OperatorGraph graph = with_backward(forward, {.fused_accumulation = true});
  const std::vector<TensorId> kept = plan_activations(graph, {}).kept;
  return std::accumulate(kept.begin(), kept.end(), 0.0, [&](double sum, TensorId id) { return sum + graph.bytes(id); });
}

std::string labels(const OperatorGraph& graph, const Operand& operand) {
  std::string out;
  for (const Axis label : operand.labels) out += (out.empty() ? "" : " ") + graph.info(label).name;
  return out;
}

const block::Sizes kLlama = {{"batch", 1}, {"sequence", 16}, {"hidden", 8}, {"heads", 4}, {"kv_heads", 2}, {"ffn", 12}};

}  // namespace

TEST_CASE("a label that the left side lacks is summed") {
  const OperatorGraph graph = compiled(
      "block t(f):\n  axes b=batch s=sequence h=4 f=f\n  input x[b s h]\n  param w[h f] v[f h]\n"
      "  out[b s h] = x + relu((x[b s h] w[h f])[b s f]) v[f h]\n",
      {{"f", 6}});
  const Operator* up = find(graph, "out.v.relu.w");
  REQUIRE(up != nullptr);
  CHECK(up->kind == OperatorKind::einsum);
  CHECK(labels(graph, up->outputs.front()) == "batch sequence f");
  CHECK(block::flop(graph, *up) == 2.0 * 2 * 8 * 4 * 6);
  const Operator* sum = find(graph, "out");
  REQUIRE(sum != nullptr);
  CHECK(sum->function == "add");
  CHECK(sum->passes_gradient.size() == 2);
}

TEST_CASE("three factors are multiplied two by two, with the labels that are needed later") {
  const OperatorGraph graph = compiled(
      "block t():\n  axes b=batch h=4 f=6 g=3\n  input x[b h]\n  param w[h f] v[f g]\n"
      "  out[b g] = x[b h] w[h f] v[f g]\n");
  CHECK(graph.operators.size() == 2);
  CHECK(block::forward_flop(graph) == 2.0 * 2 * 4 * 6 + 2.0 * 2 * 6 * 3);
}

TEST_CASE("juxtaposition without a summed label multiplies elementwise") {
  const OperatorGraph graph =
      compiled("block t():\n  axes b=batch h=4\n  input x[b h]\n  param w[h]\n  out[b h] = x[b h] w[h]\n");
  REQUIRE(graph.operators.size() == 1);
  CHECK(graph.operators[0].kind == OperatorKind::elementwise);
  CHECK(graph.operators[0].function == "multiply");
}

// A 3 x 3 convolution of stride 2 over 16 x 16 places, 4 channels to 6: 8 x 8 results of 9 x 4 products each.
TEST_CASE("a window is a convolution") {
  const OperatorGraph graph = compiled(
      "block conv(stride=2):\n  axes b=batch y=16 x=16 i=16/stride j=16/stride p=3 q=3 c=4 o=6\n"
      "  input image[b y x c]\n  param w[p q c o]\n  out[b i j o] = image[b stride*i+p-1 2*j+q-1 c] w[p q c o]\n");
  REQUIRE(graph.operators.size() == 1);
  const Operator& op = graph.operators[0];
  CHECK(op.kind == OperatorKind::einsum);
  CHECK(block::flop(graph, op) == 2.0 * 2 * 8 * 8 * 9 * 4 * 6);
  REQUIRE(op.inputs[0].windows.size() == 2);
  CHECK(op.inputs[0].windows[0].stride == 2);
  CHECK(op.inputs[0].windows[0].offset == -1);
  CHECK(op.inputs[0].windows[1].position == 2);
}

// 3 x 3 places of which the largest stays, with stride 2: each of 8 x 8 results is of 9 elements.
TEST_CASE("a window in a reduction is pooling") {
  const OperatorGraph graph = compiled(
      "block pool():\n  axes b=batch y=16 x=16 i=8 j=8 p=3 q=3 c=4\n"
      "  input image[b y x c]\n  out[b i j c] = max(image[b 2*i+p-1 2*j+q-1 c]; p q)\n");
  REQUIRE(graph.operators.size() == 1);
  const Operator& op = graph.operators[0];
  CHECK(op.kind == OperatorKind::reduction);
  REQUIRE(op.inputs[0].windows.size() == 2);
  CHECK(op.inputs[0].windows[1].tap == graph.axis("q"));
  CHECK(graph.elements(op.outputs[0].tensor) == 2 * 8 * 8 * 4);
  CHECK(must_be_whole(op, graph.axis("y")));
  CHECK_FALSE(must_be_whole(op, graph.axis("batch")));
}

// Statistics are those of the sequences that a device has: it needs all places of them, but not the batch.
TEST_CASE("a batch norm runs over places and over the sequences of its device") {
  const OperatorGraph graph = compiled(
      "block norm():\n  axes b=batch i=8 j=8 c=4\n  input x[b i j c]\n  param g[c] o[c]\n"
      "  out[b i j c] = batch_norm(x, g, o; b i j)\n");
  REQUIRE(graph.operators.size() == 1);
  const Operator& op = graph.operators[0];
  CHECK(op.kind == OperatorKind::normalization);
  CHECK(must_be_whole(op, graph.axis("i")));
  CHECK_FALSE(must_be_whole(op, graph.axis("batch")));
  CHECK(op.saved == std::vector<TensorId>{op.inputs[0].tensor});
  // Bytes that move: the operand for the statistics, again for the result, and the result.
  CHECK(op.passes * 2 == 3);
  CHECK(op.gradient_passes * 3 == 5);
}

// PyTorch keeps of a Llama layer: both operands of each product, inputs of norms and of SiLU, both factors of the
// gate; of attention query, key, value, context and one fp32 number a query and head.
TEST_CASE("llama keeps what its gradients read") {
  const OperatorGraph graph = built_in("llama", kLlama);
  const double tokens = 16;
  const double stream = 2 * tokens * 8;                   // x, a, r, m
  const double heads = 2 * tokens * (4 + 2 + 2 + 4) * 2;  // q, t, v, c: 4, 2, 2 and 4 heads of 2
  const double statistics = 4 * tokens * 4;
  const double inner = 2 * tokens * 12;  // before SiLU, behind it, the other factor, their product
  CHECK(kept_bytes(graph) == 4 * stream + heads + statistics + 4 * inner);
}

TEST_CASE("llama: parameters and FLOPs") {
  const OperatorGraph graph = built_in("llama", kLlama);
  CHECK(block::parameters(graph) == 8 * 2 * (4 + 2 + 2 + 4) + 3 * 8 * 12 + 2 * 8);
  const double products = 2.0 * 16 * (8 * 2 * (4 + 2 + 2 + 4) + 3 * 8 * 12);
  const double attention = 2 * 2.0 * 16 * 16 * 8;
  CHECK(block::forward_flop(graph) == products + attention);
  CHECK(block::model_flop(graph) == 3 * (products + attention));
}

TEST_CASE("keys are made of the tokens that queries are made of") {
  const OperatorGraph graph = built_in("llama", kLlama);
  const Operator* key = find(graph, "t.wk");
  REQUIRE(key != nullptr);
  CHECK(labels(graph, key->inputs.front()) == "batch sequence hidden");
  const Operator* attention = find(graph, "c");
  REQUIRE(attention != nullptr);
  CHECK(labels(graph, attention->inputs[0]) == "batch sequence kv_heads g head_dim");
  CHECK(labels(graph, attention->inputs[1]) == "batch sequence' kv_heads head_dim");
  CHECK(attention->causal);
}

TEST_CASE("axes are divided by what their sizes are, or as they are marked") {
  const OperatorGraph graph = built_in("mamba2", {{"batch", 1}, {"sequence", 16}, {"hidden", 64}, {"state", 8}});
  CHECK(graph.divided_by(graph.axis("batch")) == Parallelism::data);
  CHECK(graph.divided_by(graph.axis("sequence")) == Parallelism::tokens);
  CHECK(graph.divided_by(graph.axis("r")) == Parallelism::tensor);
  CHECK(graph.divided_by(graph.axis("state")) == Parallelism::none);
  block::CompileOptions options;
  options.divisions["r"] = Parallelism::none;
  const OperatorGraph whole =
      built_in("mamba2", {{"batch", 1}, {"sequence", 16}, {"hidden", 64}, {"state", 8}}, options);
  CHECK(whole.divided_by(whole.axis("r")) == Parallelism::none);
}

TEST_CASE("a block that a block is given stands in its place") {
  block::Library library = test::library();
  const auto mlp = library.find_in(
      block::BlockFile::from_text(
          test::block_file(
              "block small(hidden, ffn):\n  axes b=batch s=sequence h=hidden f=ffn\n  input x[b s h]\n"
              "  param u[h f] linear  d[f h] linear\n  out[b s h] = relu((x[b s h] u[h f])[b s f]) d[f h]\n"),
          "small.yaml"),
      "", {});
  const auto llama = library.find("llama", {}, {{"mlp", mlp}});
  const OperatorGraph graph = block::compile(*llama, block::complete_sizes(*llama, kLlama, {}), {});
  CHECK(block::parameters(graph) == 8 * 2 * (4 + 2 + 2 + 4) + 2 * 8 * 12 + 2 * 8);
  CHECK_THROWS_AS(library.find("llama", {}, {{"mpl", mlp}}), Error);
}

TEST_CASE("what is repeated has parameters of its own each time") {
  const std::string text =
      "block t(n):\n  axes b=batch h=4\n  input x[b h]\n  repeat n with y = x:\n    param w[h h']\n"
      "    z[b h'] = y[b h] w[h h']\n    next y[b h] = relu(view(z; h' -> h))\n  out[b h] = y\n";
  CHECK(block::parameters(compiled(text, {{"n", 3}})) == 3 * 16);
  CHECK(block::parameters(compiled(text, {{"n", 1}})) == 16);
}

// y = x W becomes y + x A B: with W [8 x 4 x 2] of rank 2 that is A [8 x 2] and B [2 x 4 x 2]; nothing else is trained.
TEST_CASE("adapters stand beside the weights of their tags, and everything else is frozen") {
  const OperatorGraph graph = with_adapters(built_in("llama", kLlama), {2, 0.0, {"qkv"}});
  double trained = 0;
  for (std::size_t id = 0; id < graph.tensors.size(); ++id) {
    const Tensor& tensor = graph.tensors[id];
    if (tensor.role == TensorRole::parameter && !tensor.frozen)
      trained += static_cast<double>(graph.elements(static_cast<TensorId>(id)));
  }
  CHECK(trained == 3 * 8 * 2 + 2 * 2 * (4 + 2 + 2));
  CHECK(find(graph, "q.wq.adapter_in") != nullptr);
  CHECK(find(graph, "q.wq.adapter_in")->keeps_gathered);
}

// PEFT beside 16-bit weights: x to fp32, dropout, back to 16 bits (and A), product, product (and B's cast), scale, sum.
TEST_CASE("adapters in fp32 cast what they read, and a kernel of its own scales what they make") {
  const OperatorGraph graph = with_adapters(built_in("llama", kLlama), {2, 0.1, {"proj"}, true, true});
  std::vector<std::string> names;
  int launches = 0;
  int gradient_launches = 0;
  for (const Operator& op : graph.operators) {
    const std::size_t at = op.name.find(".adapte");
    if (at == std::string::npos) continue;
    names.push_back(op.name.substr(at + 1));
    launches += op.launches;
    gradient_launches += op.gradient_launches;
  }
  CHECK(names == std::vector<std::string>{"adapter_wide", "adapter_dropout", "adapter_narrow", "adapter_in",
                                          "adapter_out", "adapter_scale", "adapted"});
  CHECK(launches == 4 + 1 + 2 + 1 + 1);  // casts, dropout, products, scale, sum
  CHECK(gradient_launches == launches);
  const auto bytes = [&](const std::string& name) {
    for (const Operator& op : graph.operators) {
      if (op.name.ends_with(name)) return graph.tensor(op.outputs.front().tensor).bytes_per_element;
    }
    return 0.0;
  };
  CHECK(bytes("adapter_wide") == 4);
  CHECK(bytes("adapter_dropout") == 4);
  CHECK(bytes("adapter_narrow") == 2);
  CHECK(bytes("adapter_scale") == 2);
}

TEST_CASE("attention without a kernel of its own is products, a softmax and copies") {
  block::CompileOptions options;
  options.fused_attention = false;
  const OperatorGraph graph = built_in("llama", kLlama, options);
  const Operator* scores = find(graph, "c.scores");
  REQUIRE(scores != nullptr);
  CHECK(labels(graph, scores->outputs.front()) == "batch kv_heads g sequence sequence'");
  CHECK(find(graph, "c.scaled") != nullptr);
  CHECK(find(graph, "c.masked") != nullptr);
  CHECK(block::forward_flop(graph) == block::forward_flop(built_in("llama", kLlama)));
}

// A token visits 2 of 8 experts: a quarter of the rows exists, and so of the products with experts' weights.
TEST_CASE("rows of experts exist for the tokens that visit them") {
  const OperatorGraph graph = compiled(
      "block moe(experts, ffn):\n  axes b=batch s=sequence h=4 c=experts e=experts f=ffn\n  input x[b s h]\n"
      "  param wr[h c] w1[e h f] linear  w2[e f h] linear\n"
      "  z[b s c] fp32 = x[b s h] wr[h c]\n"
      "  p[b s c] fp32 = route(z; c, k=2)\n"
      "  (r[e b s h], w[e b s] fp32) = dispatch(x, p; c -> e, k=2)\n"
      "  u[e b s f] = relu(r[e b s h] w1[e h f]) * w\n"
      "  y[e b s h] = u[e b s f] w2[e f h]\n"
      "  out[b s h] = x + combine(y; e)\n",
      {{"experts", 8}, {"ffn", 6}});
  const double tokens = 2 * 8;
  CHECK(block::forward_flop(graph) == 2 * tokens * 4 * 8 + 2 * (2 * tokens * 2 * 4 * 6));
  CHECK(block::active_parameters(graph) == 4 * 8 + 2 * 2 * 4 * 6);
  CHECK(graph.tensor(find(graph, "u")->outputs.front().tensor).density == 0.25);
  CHECK(graph.tensor(find(graph, "out")->outputs.front().tensor).density == 1);
}

// One group of 2 heads of 64 channels, a state of 8, 16 tokens in chunks of 4: 2 b s (Q g N + h Q P + 2 h N P).
TEST_CASE("mamba2: a scan by chunks, and a short convolution that is one pass") {
  const OperatorGraph graph =
      built_in("mamba2", {{"batch", 1}, {"sequence", 16}, {"hidden", 64}, {"state", 8}, {"chunk", 4}});
  const Operator* scan = find(graph, "y.scan");
  REQUIRE(scan != nullptr);
  CHECK(block::flop(graph, *scan) == 2.0 * 16 * (4 * 8 + 2 * 4 * 64 + 2 * 2 * 8 * 64));
  const Operator* convolution = find(graph, "v.add.kx");
  REQUIRE(convolution != nullptr);
  CHECK(convolution->kind == OperatorKind::elementwise);
}

TEST_CASE("a custom kernel costs what its formulas say") {
  const OperatorGraph graph = compiled(
      "block t(f):\n  axes b=batch h=f\n  input x[b h]\n  out[b h] = custom(x; flop=10*f, bytes=4*f, "
      "saved_bytes=3*f*batch)\n",
      {{"f", 6}});
  CHECK(block::forward_flop(graph) == 60);
  CHECK(graph.operators[0].custom.gradient_flop == 120);
  CHECK(kept_bytes(graph) == 36);
}

// Mixtral 8x7B (arXiv 2401.04088): 46.7B parameters, 12.9B active; a layer of it is llama with a mixture for its MLP.
TEST_CASE("llama with a mixture in place of its MLP is Mixtral") {
  block::Library library = test::library();
  const auto mixture = library.find("mixture", {});
  const auto layer = library.find("llama", {}, {{"mlp", mixture}});
  CHECK(layer->uses.at("mlp")->block->name == "mixture");
  const OperatorGraph graph = built_in(
      "mixture", {{"batch", 1}, {"sequence", 16}, {"hidden", 4096}, {"ffn", 14336}, {"experts", 8}, {"per_token", 2}});
  const double attention = 2.0 * 4096 * 4096 + 2.0 * 4096 * 1024 + 2 * 4096;
  const double rest = 2.0 * 32000 * 4096 + 4096;
  CHECK(std::abs(32 * (block::parameters(graph) + attention) + rest - 46.7e9) < 0.05e9);
  CHECK(std::abs(32 * (block::active_parameters(graph) + attention) + rest - 12.9e9) < 0.05e9);
  CHECK(graph.divided_by(graph.axis("experts")) == Parallelism::experts);
}

// Graphs for other values of such a size differ by one axis, so that one graph serves them all.
TEST_CASE("sizes that are nothing but an axis are known") {
  const auto axis_sizes = [](const std::string& body) {
    return test::definition("block t(n=2):\n  axes b=batch s=sequence h=4\n  input x[b s h]\n" + body)->axis_sizes;
  };
  using Names = std::vector<std::string>;
  CHECK(axis_sizes("  out[b s h] = relu(x)\n") == Names{"batch", "sequence", "vocab"});
  CHECK(axis_sizes("  out[b s h] = x * batch\n") == Names{"sequence", "vocab"});
  CHECK(axis_sizes("  when sequence > 4:\n    out[b s h] = relu(x)\n  else:\n    out[b s h] = x\n") ==
        Names{"batch", "vocab"});
  CHECK(axis_sizes("  axes t=batch*sequence\n  y[t h] = view(x; b s -> t)\n  out[b s h] = view(y; t -> b s)\n") ==
        Names{"vocab"});
  CHECK(axis_sizes("  axes q=sequence/n\n  out[b s h] = view(view(x; s -> q n); q n -> s)\n") ==
        Names{"batch", "vocab"});
}

TEST_CASE("recomputation that stops early runs all again but what only the block's results need") {
  const OperatorGraph graph = with_backward(built_in("llama", kLlama), {.fused_accumulation = true});
  const std::vector<OperatorId> whole = plan_activations(graph, all_activations(graph)).recomputed;
  const std::vector<OperatorId> early = plan_activations(graph, all_but_outputs(graph)).recomputed;
  std::vector<OperatorId> skipped;
  std::set_difference(whole.begin(), whole.end(), early.begin(), early.end(), std::back_inserter(skipped));
  // The product down to the residual stream and the addition behind it: the last two of the forward pass.
  REQUIRE(skipped.size() == 2);
  CHECK(graph.op(skipped[0]).kind == OperatorKind::einsum);
  CHECK(graph.op(skipped[0]).name == "mlp.out");
  CHECK(skipped[1] == whole.back());
  CHECK(whole.size() == early.size() + 2);
  // Either way nothing but the block's input is kept.
  CHECK(plan_activations(graph, all_but_outputs(graph)).kept == plan_activations(graph, all_activations(graph)).kept);
}

TEST_CASE("sizes are computed from left to right, products first") {
  const auto value = [](const std::string& text) {
    const Document document = Document::from_text(text, "size.yaml");
    return block::value_of(block::parse_size(Node(document)), {{"f", 6}});
  };
  CHECK(value("2 + f * 3 - 1") == 19);
  CHECK(value("2 - 1 - f") == -5);
  CHECK(value("f / 3 / 2 * 4") == 4);
  CHECK(value("f / (3 * 2)") == 1);
  CHECK(value("(f + 2) * .5") == 4);
}

TEST_CASE("a condition may be a chain of comparisons, each of which has to hold") {
  const std::string text =
      "block t(f):\n  axes h=f\n  input x[h]\n"
      "  when 2 < f <= 6:\n    out[h] = relu(x)\n  else:\n    out[h] = tanh(x)\n";
  CHECK(test::compiled(text, {{"f", 6}}).operators.front().function == "relu");
  CHECK(test::compiled(text, {{"f", 2}}).operators.front().function == "tanh");
  CHECK(test::compiled(text, {{"f", 7}}).operators.front().function == "tanh");
}
