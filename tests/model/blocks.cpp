// Blocks against the counts of the models in models/: parameters, and FLOPs of a forward pass.
#include "model/blocks.hpp"

#include "graph/backward.hpp"
#include "model/model_loader.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

using namespace mirfak;

namespace {

const std::filesystem::path folder = std::filesystem::path(MIRFAK_SOURCE_DIR) / "models";

BlockOptions options_for(const ModelSpec& model) {
  BlockOptions options;
  options.sequence = model.max_sequence;
  options.kv_heads = model.kv_heads;
  options.vocabulary = model.vocab;
  options.fused_attention = true;
  options.fused_bias_activation = true;
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
  return *std::find_if(graph.operators.begin(), graph.operators.end(),
                       [&](const Operator& op) { return op.name == name; });
}

const Tensor& tensor(const OperatorGraph& graph, const std::string& name) {
  return *std::find_if(graph.tensors.begin(), graph.tensors.end(), [&](const Tensor& t) { return t.name == name; });
}

double moved(const OperatorGraph& graph, const std::string& name) {
  const Operator& op = named(graph, name);
  double bytes = 0;
  for (const auto* operands : {&op.inputs, &op.outputs}) {
    for (const Operand& operand : *operands) bytes += graph.bytes(operand.tensor);
  }
  return bytes * op.passes;
}

}  // namespace

TEST_CASE("the blocks of every model hold the parameters that are counted") {
  for (const std::string& name : model_names(folder)) {
    CAPTURE(name);
    const ModelSpec model = load_model(name, folder, {"test", 0, 0});
    if (!model.blocks.empty()) continue;
    const BlockOptions options = options_for(model);
    double total = parameters(build_embedding_block(model, options)) + parameters(build_head_block(model, options));
    if (model.tied_embeddings) total -= static_cast<double>(model.vocab) * static_cast<double>(model.hidden);
    for (std::int64_t layer = 0; layer < model.layers; ++layer) {
      total += parameters(build_layer_block(model, options, kind_of_layer(model, layer)));
    }
    CHECK(total == doctest::Approx(count_parameters(model).total).epsilon(1e-12));
  }
}

TEST_CASE("what kernels share does not change parameters") {
  const ModelSpec model = load_model("bert-large", folder, {"test", 0, 0});
  BlockOptions options = options_for(model);
  options.fused_bias_activation = false;
  const double apart = parameters(build_layer_block(model, options));
  options.fused_linear_bias = options.wide_norm_inputs = options.chained_gelu = true;
  const OperatorGraph graph = build_layer_block(model, options);
  CHECK(parameters(graph) == apart);
  CHECK(named(graph, "mlp_up_bias").part_of_kernel);
  CHECK(named(graph, "qkv_bias").part_of_kernel);
  CHECK(graph.tensor(named(graph, "mlp_norm").inputs[0].tensor).bytes_per_element == 4);
  CHECK(named(graph, "activation").passes == 1);  // an encoder's GELU is PyTorch's own
}

TEST_CASE("a gated activation in two kernels moves five tensors forward and nine backward") {
  const ModelSpec model = load_model("llama3-8b", folder, {"test", 0, 0});
  BlockOptions options = options_for(model);
  for (const bool fused : {true, false}) {
    CAPTURE(fused);
    options.fused_bias_activation = fused;
    const OperatorGraph graph = with_backward(build_layer_block(model, options), {});
    const double one = graph.bytes(named(graph, "activation").outputs[0].tensor);
    CHECK(moved(graph, "activation") == doctest::Approx((fused ? 3 : 5) * one));
    CHECK(moved(graph, "d_activation") == doctest::Approx((fused ? 5 : 9) * one));
  }
}

TEST_CASE("a loss that recomputes the softmax keeps the logits and moves them three times") {
  const ModelSpec model = load_model("llama3-8b", folder, {"test", 0, 0});
  BlockOptions options = options_for(model);
  options.fused_cross_entropy = options.loss_recomputes_softmax = true;
  options.logit_metric_bytes = 14;
  const OperatorGraph graph = with_backward(build_head_block(model, options), {});
  const Operator& gradient = named(graph, "d_cross_entropy");
  const double logits = graph.bytes(named(graph, "logits").outputs[0].tensor);
  CHECK(graph.bytes(gradient.inputs[0].tensor) + graph.bytes(gradient.outputs[0].tensor) == 2 * logits);
  CHECK(named(graph, "cross_entropy").inputs.size() == 1);
  CHECK(named(graph, "metrics").passes * logits == 7 * logits);  // 14 bytes per logit of 2
}

TEST_CASE("gradients of a normalization's parameters: by kernels as fast, by plain sums, or beside") {
  const ModelSpec model = load_model("llama3-8b", folder, {"test", 0, 0});
  const OperatorGraph layer = build_layer_block(model, options_for(model));
  const auto with = [&](NormKernels norms) {
    BackwardOptions options;
    options.norms = norms;
    return with_backward(layer, options);
  };
  const auto sums = [&](NormKernels norms) { return named(with(norms), "d_mlp_norm_parameters"); };
  CHECK(sums(NormKernels::separate).kind == OperatorKind::normalization);
  CHECK(sums(NormKernels::plain).kind == OperatorKind::reduction);
  CHECK(sums(NormKernels::fused).part_of_kernel);
  CHECK_FALSE(sums(NormKernels::plain).part_of_kernel);
  CHECK(named(with(NormKernels::plain), "d_mlp_norm").passes == doctest::Approx(10.0 / 6));
}

TEST_CASE("rows of experts exist for the experts that a token visits") {
  const ModelSpec model = load_model("deepseek-v3", folder, {"test", 0, 0});
  BlockOptions options = options_for(model);
  options.batch = 2;
  const OperatorGraph graph = build_layer_block(model, options, {.experts = true, .window = 0});
  const double tokens = 2.0 * 4096;
  const Operator& up = named(graph, "expert_up");
  CHECK(graph.bytes(up.inputs[0].tensor) == tokens * 8 * 7168 * 2);
  CHECK(graph.bytes(up.outputs[0].tensor) == tokens * 8 * 2 * 2048 * 2);
  CHECK(tensor(graph, "combined").density == 1);
}

TEST_CASE("sorting rows by expert reads the copies that arrived, and padding copies rows once each way") {
  const ModelSpec model = load_model("mixtral-8x7b", folder, {"test", 0, 0});  // 2 of 8 experts
  BlockOptions options = options_for(model);
  const auto layer = [&] { return build_layer_block(model, options, {.experts = true, .window = 0}); };
  const double tokens = static_cast<double>(model.max_sequence);
  const double row = 2.0 * static_cast<double>(model.hidden);
  const double once = moved(layer(), "combine");
  CHECK(once == doctest::Approx(tokens * row * (2 + 1)));
  options.copies_per_token = 1.5;
  CHECK(moved(layer(), "combine") == doctest::Approx(tokens * row * (2 + 1.5)));
  options.rows_padded = true;
  const OperatorGraph padded = layer();
  CHECK(moved(padded, "pad_rows") == doctest::Approx(2 * tokens * 2 * row));
  CHECK(named(padded, "expert_up").inputs[0].tensor == named(padded, "pad_rows").outputs[0].tensor);
  CHECK(named(padded, "combine").inputs[0].tensor == named(padded, "unpad_rows").outputs[0].tensor);
}

TEST_CASE("biases of experts: in the product, one addition, or the bytes that the framework says") {
  const ModelSpec model = load_model("gpt-oss-20b", folder, {"test", 0, 0});
  BlockOptions options = options_for(model);
  options.fused_linear_bias = true;
  const auto layer = [&] {
    return with_backward(build_layer_block(model, options, {.experts = true, .window = 0}), {});
  };
  const double elements = static_cast<double>(model.max_sequence * model.mixture.per_token * model.hidden);
  const OperatorGraph added = layer();
  CHECK(named(added, "expert_up_bias").part_of_kernel);
  CHECK_FALSE(named(added, "expert_down_bias").part_of_kernel);
  CHECK(moved(added, "expert_down_bias") == doctest::Approx(4 * elements).epsilon(0.01));  // and the bias itself
  options.expert_bias_bytes = 28;
  options.expert_bias_gradient_bytes = 40;
  const OperatorGraph looped = layer();
  CHECK(moved(looped, "expert_down_bias") == doctest::Approx(28 * elements).epsilon(0.01));
  CHECK(moved(looped, "d_expert_down_bias") == doctest::Approx(40 * elements).epsilon(0.01));
}

TEST_CASE("latent attention multiplies heads of 192 and of 128") {
  const ModelSpec model = load_model("deepseek-v3", folder, {"test", 0, 0});
  const OperatorGraph graph = build_layer_block(model, options_for(model));
  const Operator& attention = named(graph, "attention");
  CHECK(graph.elements(attention.inputs[0].tensor) == 4096 * 128 * 192);
  CHECK(graph.elements(attention.inputs[1].tensor) == 4096 * 128 * 192);
  CHECK(graph.elements(attention.inputs[2].tensor) == 4096 * 128 * 128);
  CHECK(graph.elements(attention.outputs[0].tensor) == 4096 * 128 * 128);
}

TEST_CASE("a window is the attention's own") {
  const ModelSpec model = load_model("gpt-oss-20b", folder, {"test", 0, 0});
  const BlockOptions options = options_for(model);
  CHECK(named(build_layer_block(model, options, kind_of_layer(model, 0)), "attention").window == 128);
  CHECK(named(build_layer_block(model, options, kind_of_layer(model, 1)), "attention").window == 0);
}
