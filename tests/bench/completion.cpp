// Completion and partitioning do not depend on the number of devices: one layer of GPT-3, and 32 different layers, with
// their gradients, on meshes of 8 to 65,536 devices. Milliseconds a layer, median of rounds.
//   mirfak_bench_completion [--smoke]

#include "sharding/completion.hpp"
#include "graph/backward.hpp"
#include "model/blocks.hpp"
#include "model/model_loader.hpp"
#include "sharding/partition.hpp"
#include "sharding/weight_update.hpp"
#include "support/source_root.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>
#include <vector>

using namespace mirfak;

namespace {

// GPT-3's layer; of the others each has its own hidden size and heads.
OperatorGraph layer(ModelSpec model, int number) {
  model.hidden += 128 * number;
  model.heads += number;
  model.kv_heads = model.heads;
  model.ffn = 4 * model.hidden;
  BlockOptions options;
  options.batch = 512;
  options.sequence = 2048;
  options.kv_heads = model.kv_heads;
  options.vocabulary = model.vocab;
  options.fused_attention = number % 2 == 0;
  return with_backward(build_layer_block(model, options), {.fused_accumulation = true});
}

// Weights over both axes of the mesh, the stream of activations over the first: all else is completed.
std::vector<Annotation> annotations_for(const OperatorGraph& graph, const DeviceMesh& mesh) {
  std::vector<Annotation> out;
  for (std::size_t id = 0; id < graph.tensors.size(); ++id) {
    const Tensor& tensor = graph.tensors[id];
    const bool weight = tensor.role == TensorRole::parameter && tensor.axes.size() > 1;
    if (!weight && tensor.role != TensorRole::input) continue;
    AnnotationText text = {tensor.name, {}, true, tensor.name};
    for (const Axis axis : tensor.axes) {
      const AxisInfo& info = graph.info(axis);
      if (info.divided_by == Parallelism::data) text.entries.push_back({info.name, false, {"x"}});
      if (weight && info.divided_by == Parallelism::tensor) text.entries.push_back({info.name, false, {"y"}});
      if (weight && info.name == "hidden") text.entries.push_back({info.name, false, {"x"}});
    }
    out.push_back(annotation_of(text, graph, static_cast<TensorId>(id), mesh));
  }
  return out;
}

struct Measured {
  double milliseconds = 0;  // a layer
  std::size_t steps = 0;    // of all layers, forward, backward and behind them
};

Measured measure(const std::vector<OperatorGraph>& layers, const DeviceMesh& mesh, int rounds) {
  std::vector<std::vector<Annotation>> annotations;
  for (const OperatorGraph& graph : layers) annotations.push_back(annotations_for(graph, mesh));
  std::vector<double> times;
  Measured out;
  for (int round = 0; round < rounds; ++round) {
    out.steps = 0;
    const auto begin = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < layers.size(); ++i) {
      const PartitionedBlock block = partition(layers[i], mesh, complete(layers[i], mesh, annotations[i]), {}, {});
      const WeightUpdate update = weight_update(block, mesh);
      out.steps += block.forward.size() + block.backward.size() + update.reductions.size() + update.gathers.size();
    }
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - begin;
    times.push_back(time.count() / static_cast<double>(layers.size()));
  }
  std::nth_element(times.begin(), times.begin() + rounds / 2, times.end());
  out.milliseconds = times[static_cast<std::size_t>(rounds / 2)];
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  const bool smoke = argc > 1 && std::string(argv[1]) == "--smoke";
  const ModelSpec model = load_model("gpt3-175b", source_root() + "/models", {});
  std::vector<OperatorGraph> one = {layer(model, 0)};
  std::vector<OperatorGraph> many;
  for (int i = 0; i < 32; ++i) many.push_back(layer(model, i));
  fmt::print("{:>8}  {:>12}  {:>12}  {:>16}  {:>12}\n", "devices", "ms, a layer", "steps", "ms, each of 32", "steps");
  for (const int columns : {4, 16, 64, 256}) {
    const int rows = columns == 4 ? 2 : columns == 16 ? 32 : columns == 64 ? 128 : 256;
    const DeviceMesh mesh = {{"x", rows}, {"y", columns}};
    const Measured single = measure(one, mesh, smoke ? 1 : 101);
    const Measured all = measure(many, mesh, smoke ? 1 : 11);
    fmt::print("{:>8}  {:>12.3f}  {:>12}  {:>16.3f}  {:>12}\n", mesh.devices(), single.milliseconds, single.steps,
               all.milliseconds, all.steps);
  }
  return 0;
}
