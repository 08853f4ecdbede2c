// Blocks against the counts of the models in models/: parameters, and FLOPs of a forward pass.
#include "model/blocks.hpp"

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

}  // namespace

TEST_CASE("the blocks of every model hold the parameters that are counted") {
  for (const std::string& name : model_names(folder)) {
    CAPTURE(name);
    const ModelSpec model = load_model(name, folder, {"test", 0, 0});
    const BlockOptions options = options_for(model);
    double total = parameters(build_embedding_block(model, options)) + parameters(build_head_block(model, options));
    if (model.tied_embeddings) total -= static_cast<double>(model.vocab) * static_cast<double>(model.hidden);
    for (std::int64_t layer = 0; layer < model.layers; ++layer) {
      total += parameters(build_layer_block(model, options, kind_of_layer(model, layer)));
    }
    CHECK(total == doctest::Approx(count_parameters(model).total).epsilon(1e-12));
  }
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
