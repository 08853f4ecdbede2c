// Blocks against the counts of the models in models/: parameters, and FLOPs of a forward pass.
#include "model/blocks.hpp"

#include "graph/backward.hpp"
#include "model/model_loader.hpp"
#include "support/source_root.hpp"
#include "support/transformers.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <numeric>

namespace blocks_test {

using namespace mirfak;
using namespace mirfak::test;

namespace {

const std::filesystem::path folder = std::filesystem::path(source_root()) / "models";

BlockOptions options_for(const ModelSpec& model) {
  BlockOptions options;
  options.sequence = model.max_sequence;
  options.kv_heads = model.kv_heads;
  options.vocabulary = model.vocab;
  options.fused_attention = true;
  options.fusion = usual_fusion();
  return options;
}

double parameters(const OperatorGraph& graph) {
  double count = 0;
  for (std::size_t id = 0; id < graph.tensors.size(); ++id) {
    if (graph.tensors[id].role == TensorRole::parameter) {
      count += static_cast<double>(graph.elements(static_cast<TensorId>(id)));
    }
  }
  return count;
}

const Operator& named(const OperatorGraph& graph, const std::string& name) {
  const auto found =
      std::find_if(graph.operators.begin(), graph.operators.end(), [&](const Operator& op) { return op.name == name; });
  REQUIRE_MESSAGE(found != graph.operators.end(), name);
  return *found;
}

const Tensor& tensor(const OperatorGraph& graph, const std::string& name) {
  return *std::find_if(graph.tensors.begin(), graph.tensors.end(), [&](const Tensor& t) { return t.name == name; });
}

double moved(const OperatorGraph& graph, const std::string& name) {
  const Operator& op = named(graph, name);
  double bytes = 0;
  double largest = 0;  // operand, in elements
  for (const auto* operands : {&op.inputs, &op.outputs}) {
    for (const Operand& operand : *operands) {
      bytes += graph.bytes(operand.tensor);
      largest = std::max(largest, graph.bytes(operand.tensor) / graph.tensor(operand.tensor).bytes_per_element);
    }
  }
  if (op.kernels.empty()) return bytes * op.passes;
  return std::accumulate(op.kernels.begin(), op.kernels.end(), 0.0,
                         [&](double sum, const PlainKernel& kernel) { return sum + kernel.bytes * largest; });
}

}  // namespace

TEST_CASE("what kernels share does not change parameters") {
  const ModelSpec model = load_model("bert-large", folder, {"test", 0, 0});
  BlockOptions options = options_for(model);
  const double fused = parameters(build_layer_block(model, options));
  options.fusion.chains.clear();
  options.fusion.epilogues = {"bias"};
  options.kernels.norm_input_cast = {{.bytes = 6}};
  const OperatorGraph graph = build_layer_block(model, options);
  CHECK(parameters(graph) == fused);
  CHECK(named(graph, "mlp.up").part_of_kernel);
  CHECK(named(graph, "qkv_bias").part_of_kernel);
  CHECK(graph.tensor(named(graph, "mlp_norm.out").inputs[0].tensor).bytes_per_element == 4);
  CHECK(named(graph, "mlp.inner").passes == 1);
  options.kernels.chained_gelu = true;
  CHECK(named(build_layer_block(model, options), "mlp.inner").passes == 9);
}

TEST_CASE("a gated activation in two kernels moves five tensors forward and nine backward") {
  const ModelSpec model = load_model("llama3-8b", folder, {"test", 0, 0});
  BlockOptions options = options_for(model);
  for (const bool fused : {true, false}) {
    CAPTURE(fused);
    if (!fused) options.fusion.chains.clear();
    const OperatorGraph graph = with_backward(build_layer_block(model, options), {});
    const double one = graph.bytes(named(graph, "mlp.inner").outputs[0].tensor);
    double forward = moved(graph, "mlp.inner");
    double backward = moved(graph, "d_mlp.inner");
    if (!fused) {
      forward += moved(graph, "mlp.inner.silu");
      backward += moved(graph, "d_mlp.inner.silu");
      // The product's operand is kept for its gradient.
      const TensorId activated = named(graph, "mlp.inner.silu").outputs[0].tensor;
      const std::vector<TensorId>& saved = named(graph, "mlp.inner").saved;
      CHECK(std::find(saved.begin(), saved.end(), activated) != saved.end());
    }
    CHECK(forward == doctest::Approx((fused ? 3 : 5) * one));
    CHECK(backward == doctest::Approx((fused ? 5 : 9) * one));
  }
}

TEST_CASE("an RMS norm of plain kernels: 36 bytes an element forward, 86 for the gradient of what it reads") {
  const ModelSpec model = load_model("llama3-8b", folder, {"test", 0, 0});
  BlockOptions options = options_for(model);
  options.kernels.chained_rms_norm = true;
  const OperatorGraph graph = with_backward(build_layer_block(model, options), {});
  const double elements = graph.bytes(named(graph, "mlp_norm.out").outputs[0].tensor) / 2;
  double forward = 0;
  double backward = 0;
  for (const Operator& op : graph.operators) {
    if (op.name.starts_with("mlp_norm.out")) forward += moved(graph, op.name);
    if (op.name.starts_with("d_mlp_norm.out") && op.phase == Phase::activation_gradient) {
      backward += moved(graph, op.name);
    }
  }
  // To fp32 (2 + 4), square (8), mean (4), quotient (8), back (4 + 2), times the weight (2 + 2); the weight is small.
  CHECK(forward / elements == doctest::Approx(36).epsilon(0.001));
  // Gradients: of the weight (2 + 2, and its factor, 2), the cast (2 + 4), the quotient (68), the cast (4 + 2).
  CHECK(backward / elements == doctest::Approx(86).epsilon(0.001));
}

// modeling_llama.py's RMSNorm run with PyTorch's dispatch counted: 8 kernels forward, 16 backward, the weight's three.
TEST_CASE("an RMS norm of plain kernels is 8 launches forward and 16 backward, 14 where its weight is frozen") {
  const ModelSpec model = load_model("llama3-8b", folder, {"test", 0, 0});
  for (const bool frozen : {false, true}) {
    CAPTURE(frozen);
    BlockOptions options = options_for(model);
    options.kernels.chained_rms_norm = true;
    if (frozen) {
      options.adapters.rank = 8;
      options.adapters.query_key_value = true;
    }
    const OperatorGraph graph = with_backward(build_layer_block(model, options), {});
    int forward = 0;
    int backward = 0;
    for (const Operator& op : graph.operators) {
      if (op.name.starts_with("mlp_norm.out")) forward += op.launches;
      if (op.name.starts_with("d_mlp_norm.out")) backward += op.launches;
    }
    CHECK(forward == 8);
    CHECK(backward == (frozen ? 14 : 16));
  }
}

TEST_CASE("rotary embedding without a kernel of its own is four") {
  const ModelSpec model = load_model("llama3-8b", folder, {"test", 0, 0});
  BlockOptions options = options_for(model);
  const OperatorGraph apart = build_layer_block(model, options);
  options.kernels.fused_rotary = true;
  const OperatorGraph fused = build_layer_block(model, options);
  CHECK(apart.operators.size() == fused.operators.size() + 2 * 3);
  CHECK(parameters(apart) == parameters(fused));
}

TEST_CASE("a loss that recomputes the softmax keeps the logits and moves them three times") {
  const ModelSpec model = load_model("llama3-8b", folder, {"test", 0, 0});
  BlockOptions options = options_for(model);
  options.kernels.fused_cross_entropy = options.kernels.loss_recomputes_softmax = true;
  options.kernels.logit_metric_bytes = 14;
  const OperatorGraph graph = with_backward(build_head_block(model, options), {});
  const Operator& gradient = named(graph, "d_loss");
  const double logits = graph.bytes(named(graph, "logits").outputs[0].tensor);
  CHECK(graph.bytes(gradient.inputs[0].tensor) + graph.bytes(gradient.outputs[0].tensor) == 2 * logits);
  CHECK(named(graph, "loss").inputs.size() == 1);
  CHECK(named(graph, "loss_metrics").passes * logits == 7 * logits);  // 14 bytes per logit of 2
}

TEST_CASE("what backward needs of an activation function may be kept in 8 bits") {
  const ModelSpec model = load_model("llama3-8b", folder, {"test", 0, 0});
  BlockOptions options = options_for(model);
  options.kernels.narrow_activation_input = true;
  const OperatorGraph graph = build_layer_block(model, options);
  const Operator& activation = named(graph, "mlp.inner");
  REQUIRE(activation.saved.size() == 1);
  CHECK(graph.tensor(activation.saved.front()).bytes_per_element == 1);
  CHECK(graph.elements(activation.saved.front()) == graph.elements(activation.inputs.front().tensor));
}

TEST_CASE("gradients of a normalization's parameters: by kernels as fast, by plain sums, or beside") {
  const ModelSpec model = load_model("llama3-8b", folder, {"test", 0, 0});
  const OperatorGraph layer = build_layer_block(model, options_for(model));
  const auto with = [&](NormKernels norms) {
    BackwardOptions options;
    options.norms = norms;
    return with_backward(layer, options);
  };
  const auto sums = [&](NormKernels norms) { return named(with(norms), "d_mlp_norm.out_parameters"); };
  CHECK(sums(NormKernels::separate).kind == OperatorKind::normalization);
  CHECK(sums(NormKernels::plain).kind == OperatorKind::reduction);
  CHECK(sums(NormKernels::fused).part_of_kernel);
  CHECK_FALSE(sums(NormKernels::plain).part_of_kernel);
  CHECK(named(with(NormKernels::plain), "d_mlp_norm.out").passes == doctest::Approx(10.0 / 6));
}

TEST_CASE("rows of experts exist for the experts that a token visits") {
  const ModelSpec model = load_model("deepseek-v3", folder, {"test", 0, 0});
  BlockOptions options = options_for(model);
  options.batch = 2;
  const OperatorGraph graph = build_layer_block(model, options, {.experts = true, .window = 0});
  const double tokens = 2.0 * 4096;
  const Operator& up = named(graph, "expert_fc1");
  CHECK(graph.bytes(up.inputs[0].tensor) == tokens * 8 * 7168 * 2);
  CHECK(graph.bytes(up.outputs[0].tensor) == tokens * 8 * 2 * 2048 * 2);
  CHECK(tensor(graph, "experts.combine").density == 1);
}

TEST_CASE("sorting rows by expert reads the copies that arrived, and padding copies rows once each way") {
  const ModelSpec model = load_model("mixtral-8x7b", folder, {"test", 0, 0});  // 2 of 8 experts
  BlockOptions options = options_for(model);
  const auto layer = [&] { return build_layer_block(model, options, {.experts = true, .window = 0}); };
  const double tokens = static_cast<double>(model.max_sequence);
  const double row = 2.0 * static_cast<double>(model.hidden);
  const std::string combine = "experts.out";
  CHECK(moved(layer(), combine) == doctest::Approx(tokens * row * (2 + 1)));
  options.kernels.copies_per_token = 1.5;
  CHECK(moved(layer(), combine) == doctest::Approx(tokens * row * (2 + 1.5)));
  options.kernels.rows_padded = true;
  const OperatorGraph padded = layer();
  CHECK(moved(padded, "pad_rows") == doctest::Approx(2 * tokens * 2 * row));
  CHECK(named(padded, "expert_fc1").inputs[0].tensor == named(padded, "pad_rows").outputs[0].tensor);
  CHECK(named(padded, combine).inputs[0].tensor == named(padded, "unpad_rows").outputs[0].tensor);
}

TEST_CASE("biases of experts: in the product, one addition, or the kernels that the framework says") {
  const ModelSpec model = load_model("gpt-oss-20b", folder, {"test", 0, 0});
  BlockOptions options = options_for(model);
  options.fusion.epilogues = {"bias"};
  const auto layer = [&] {
    return with_backward(build_layer_block(model, options, {.experts = true, .window = 0}), {});
  };
  const double elements = static_cast<double>(model.max_sequence * model.mixture.per_token * model.hidden);
  const OperatorGraph added = layer();
  CHECK(named(added, "expert_fc1_bias").part_of_kernel);
  CHECK_FALSE(named(added, "experts.rows").part_of_kernel);
  CHECK(moved(added, "experts.rows") == doctest::Approx(4 * elements).epsilon(0.01));  // and the bias itself
  options.kernels.expert_bias = {{.bytes = 4, .cycles = 1.4, .per_expert = true}, {.bytes = 24}};
  options.kernels.expert_bias_gradient = {{.bytes = 40}};
  const OperatorGraph looped = layer();
  CHECK(moved(looped, "experts.rows") == doctest::Approx(28 * elements).epsilon(0.01));
  CHECK(moved(looped, "d_experts.rows") == doctest::Approx(40 * elements).epsilon(0.01));
}

TEST_CASE("latent attention multiplies heads of 192 and of 128, and turns keys beside values in one kernel") {
  const ModelSpec model = load_model("deepseek-v3", folder, {"test", 0, 0});
  const OperatorGraph graph = build_layer_block(model, options_for(model));
  const Operator& attention = named(graph, "attention.context");
  CHECK(graph.elements(attention.inputs[0].tensor) == 4096 * 128 * 192);
  CHECK(graph.elements(attention.inputs[1].tensor) == 4096 * 128 * 192);
  CHECK(graph.elements(attention.inputs[2].tensor) == 4096 * 128 * 128);
  CHECK(graph.elements(attention.outputs[0].tensor) == 4096 * 128 * 128);
  const Operator& turned = named(graph, "attention.key");
  CHECK(turned.inputs.size() == 2);   // what the projection made, and the position part
  CHECK(turned.outputs.size() == 2);  // keys and values
}

TEST_CASE("a window is the attention's own") {
  const ModelSpec model = load_model("gpt-oss-20b", folder, {"test", 0, 0});
  const BlockOptions options = options_for(model);
  CHECK(named(build_layer_block(model, options, kind_of_layer(model, 0)), "attention.context").window == 128);
  CHECK(named(build_layer_block(model, options, kind_of_layer(model, 1)), "attention.context").window == 0);
}

// A graph that was built before serves other numbers of sequences.
TEST_CASE("graphs of other batches differ by one axis") {
  const ModelSpec model = load_model("llama3-8b", folder, {"test", 0, 0});
  BlockOptions options = options_for(model);
  const OperatorGraph one = build_layer_block(model, options);
  options.batch = 12;
  const OperatorGraph twelve = build_layer_block(model, options);
  CHECK(one.extent(one.axis("batch")) == 1);
  CHECK(twelve.extent(twelve.axis("batch")) == 12);
  CHECK(twelve.operators.size() == one.operators.size());
  CHECK(twelve.extent(twelve.axis("hidden")) == one.extent(one.axis("hidden")));
}

// An axis that a model divides in another way keeps its name, and so its extent.
TEST_CASE("a model that leaves its tokens together has as many") {
  const ModelSpec model = parse_model(
      Document::from_text("source: a test\nmax_sequence: 16\nsizes: {hidden: 8, heads: 2, ffn: 16, vocab: 32}\n"
                          "divided_by: {sequence: none}\nblocks: [embedding, {use: llama, count: 2}, head]\n",
                          "tiny.yaml"),
      folder);
  BlockOptions options = options_for(model);
  options.batch = 3;
  for (const OperatorGraph& graph :
       {build_embedding_block(model, options), build_layer_block(model, options, kind_of_layer(model, 0)),
        build_head_block(model, options)}) {
    CAPTURE(graph.name);
    CHECK(graph.extent(graph.axis("batch")) == 3);
    CHECK(graph.extent(graph.axis("sequence")) == 16);
    CHECK(graph.divided_by(graph.axis("sequence")) == Parallelism::none);
  }
}

TEST_CASE("a table of learned positions has its rows, however short the sequences are") {
  for (const char* name : {"gpt2-124m", "opt-125m", "bert-base", "gpt3-175b"}) {
    CAPTURE(name);
    const ModelSpec model = load_model(name, folder, {"test", 0, 0});
    BlockOptions options = options_for(model);
    const double whole = parameters(build_embedding_block(model, options));
    for (const std::int64_t sequence : {std::int64_t{1}, model.max_sequence / 2, model.max_sequence - 1}) {
      options.sequence = sequence;
      const OperatorGraph graph = build_embedding_block(model, options);
      CHECK(parameters(graph) == whole);
      CHECK(parameters(build_embedding_block(model, options)) == whole);  // and of a graph that is remembered
      CHECK(graph.bytes(graph.outputs.front()) == 2.0 * static_cast<double>(sequence * model.hidden));
    }
  }
}

TEST_CASE("sinks of attention: a parameter of each head with a gradient, in one kernel or in several") {
  const ModelSpec model = load_model("gpt-oss-20b", folder, {"test", 0, 0});
  for (const bool fused : {true, false}) {
    CAPTURE(fused);
    BlockOptions options = options_for(model);
    options.fused_attention = fused;
    const OperatorGraph graph = with_backward(build_layer_block(model, options), {});
    const Tensor& sinks = tensor(graph, "attention.sink_logits");
    CHECK(sinks.role == TensorRole::parameter);
    CHECK(graph.bytes(static_cast<TensorId>(&sinks - graph.tensors.data())) == 2.0 * 64);
    const auto of_sinks = [&](const Tensor& one) {
      return one.role == TensorRole::parameter_gradient && one.of == &sinks - graph.tensors.data();
    };
    CHECK(std::count_if(graph.tensors.begin(), graph.tensors.end(), of_sinks) == 1);
  }
}

}  // namespace blocks_test
