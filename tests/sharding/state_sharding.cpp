// ZeRO and FSDP are annotations: of the flat buffers that frameworks keep state in, and of a block's own tensors.

#include "sharding/state_sharding.hpp"

#include "blocks_fixture.hpp"
#include "graph/backward.hpp"
#include "model/model_loader.hpp"
#include "sharding/completion.hpp"
#include "sharding/partition.hpp"
#include "sharding/weight_update.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <vector>

using namespace mirfak;
using namespace mirfak::test;

namespace {

StateSharding sharded(int zero, int replicas, int group = 0, const Framework& framework = {}) {
  Strategy strategy;
  strategy.data = replicas;
  strategy.zero = zero;
  strategy.zero_group = group;
  return state_sharding(strategy, zero_stage(framework, zero));
}

std::string text_of(const std::vector<ReshardStep>& steps) {
  std::string out;
  for (const ReshardStep& step : steps) {
    out += fmt::format("{}{} {:g} over", out.empty() ? "" : ", ", name_of(step.kind), step.bytes);
    if (step.over.contains(kShardAxis)) out += " shard";
    if (step.over.contains(kCopyAxis)) out += " copy";
  }
  return out;
}

// A parameter's annotation divided further over the replicas, along the longest axis that they divide.
Annotation over_replicas(const OperatorGraph& graph, const DeviceMesh& mesh, Annotation annotation) {
  std::optional<std::size_t> longest;
  const AxisLabels& axes = graph.tensor(annotation.tensor).axes;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::int64_t local = graph.extent(axes[i]) / mesh.size(annotation.axes[i].value_or(MeshAxisSet()));
    if (local % mesh.size(MeshAxis::data) != 0) continue;
    if (!longest || graph.extent(axes[i]) > graph.extent(axes[*longest])) longest = i;
  }
  REQUIRE(longest.has_value());
  MeshAxisSet divided = annotation.axes[*longest].value_or(MeshAxisSet());
  divided.insert(MeshAxis::data);
  annotation.axes[*longest] = divided;
  return annotation;
}

TensorId gradient_of(const OperatorGraph& graph, TensorId parameter) {
  for (std::size_t id = 0; id < graph.tensors.size(); ++id) {
    const Tensor& tensor = graph.tensors[id];
    if (tensor.role == TensorRole::parameter_gradient && tensor.of == parameter) return static_cast<TensorId>(id);
  }
  return -1;
}

// Annotations of the rules, and of ZeRO's divided tensors: gradients, at stage 3 the parameters. Then all
// activations are annotated too: a weight that is divided over the same devices as the batch says otherwise of them.
std::vector<Annotation> zero_annotations(const OperatorGraph& graph, const DeviceMesh& mesh,
                                         const std::vector<AxisRule>& rules, int zero) {
  std::vector<Annotation> out = annotations_of(graph, rules);
  const ShardingPlan plan = complete(graph, mesh, out, rules);
  const std::size_t of_rules = out.size();
  for (std::size_t i = 0; i < of_rules && zero > 0; ++i) {
    const Tensor& tensor = graph.tensor(out[i].tensor);
    if (tensor.role != TensorRole::parameter || tensor.frozen) continue;
    Annotation divided = over_replicas(graph, mesh, out[i]);
    if (zero == 3) out[i] = divided;
    divided.tensor = gradient_of(graph, divided.tensor);
    if (divided.tensor >= 0) out.push_back(divided);
  }
  for (std::size_t id = 0; id < graph.tensors.size() && zero == 3; ++id) {
    const TensorRole role = graph.tensors[id].role;
    if (role != TensorRole::activation && role != TensorRole::gradient) continue;
    Annotation annotation;
    annotation.tensor = static_cast<TensorId>(id);
    for (const MeshAxisSet axes : plan.tensors[id].axes) annotation.axes.push_back(axes);
    out.push_back(annotation);
  }
  return out;
}

struct Volumes {
  double reduced = 0;     // elements of collectives
  double gathered = 0;    // behind the optimizer's step
  double in_forward = 0;  // of parameters, in passes
  double in_backward = 0;
  double state = 0;
};

Volumes volumes_of(const PartitionedBlock& block, const DeviceMesh& mesh) {
  Volumes out;
  const auto elements = [&](const BlockStep& step) {
    return step.bytes / block.graph.tensor(step.tensor).bytes_per_element;
  };
  const WeightUpdate update = weight_update(block, mesh);
  for (const BlockStep& step : update.reductions) out.reduced += elements(step);
  for (const BlockStep& step : update.gathers) out.gathered += elements(step);
  for (const bool forward : {true, false}) {
    for (const BlockStep& step : forward ? block.forward : block.backward) {
      if (step.kind != BlockStep::Kind::collective || !step.over.contains(MeshAxis::data)) continue;
      INFO(step_texts(block, {step}).front());
      CHECK(step.collective == CollectiveKind::all_gather);
      CHECK(block.graph.tensor(step.tensor).role == TensorRole::parameter);
      (forward ? out.in_forward : out.in_backward) += elements(step);
    }
  }
  out.state = update.state_elements;
  return out;
}

}  // namespace

TEST_CASE("stages of ZeRO as annotations of flat buffers") {
  const Framework framework;
  CHECK(text_of(sharded(0, 8).reductions(800)) == "all-reduce 800 over copy");
  CHECK(sharded(0, 8).gathers(800).empty());
  for (const int zero : {1, 2, 3}) {
    CAPTURE(zero);
    CHECK(text_of(sharded(zero, 8).reductions(800)) == "reduce-scatter 800 over shard");
    CHECK(text_of(sharded(zero, 8).gathers(800)) == "all-gather 800 over shard");
    CHECK(text_of(sharded(zero, 8, 4).reductions(800)) == "reduce-scatter 800 over shard, all-reduce 200 over copy");
    CHECK(text_of(sharded(zero, 8, 4).gathers(800)) == "all-gather 800 over shard");
  }
  const StateSharding second = sharded(2, 8);
  CHECK(second.held(second.parameters, 800) == 800);
  CHECK(second.held(second.gradients, 800) == 100);
  CHECK(second.held(second.state, 800) == 100);
  CHECK(sharded(1, 1).reductions(800).empty());
}

TEST_CASE("a framework that sums all gradients on every rank") {
  Framework framework;
  framework.sharding.all_reduce_gradients = true;
  CHECK(text_of(sharded(1, 8, 0, framework).reductions(800)) == "all-reduce 800 over shard");
  CHECK(text_of(sharded(1, 8, 4, framework).reductions(800)) == "all-reduce 800 over shard copy");
  CHECK(text_of(sharded(2, 8, 4, framework).reductions(800)) ==
        "reduce-scatter 800 over shard, all-reduce 200 over copy");
}

TEST_CASE("the same annotations of a block's own tensors communicate and hold as much") {
  const std::filesystem::path models = std::filesystem::path(source_root()) / "models";
  for (const char* name : {"gpt3-1.3b", "llama3-8b", "bert-base"}) {
    const ModelSpec model = load_model(name, models, {});
    for (const int tensor : {1, 2}) {
      for (const int zero : {0, 1, 2, 3}) {
        INFO(fmt::format("{} tensor {} ZeRO {}", name, tensor, zero));
        Strategy strategy;
        strategy.data = 4;
        strategy.tensor = tensor;
        strategy.zero = zero;
        const OperatorGraph graph =
            with_backward(build_layer_block(model, options_for(model, strategy), layer_kinds(model).front()),
                          {.fused_accumulation = true});
        const std::vector<AxisRule> rules = axis_rules(strategy);
        const DeviceMesh mesh = mesh_of(strategy);
        const ShardingPlan plan = complete(graph, mesh, zero_annotations(graph, mesh, rules, zero), rules);
        const Volumes found = volumes_of(partition(graph, mesh, plan, rules, {}), mesh);
        double held = 0;
        for (const ParameterShard& shard : partition(graph, mesh, rules, {}).parameters) held += shard.elements;

        const StateSharding state = state_sharding(strategy, zero_stage(Framework(), zero));
        const auto sum = [](const std::vector<ReshardStep>& steps) {
          double out = 0;
          for (const ReshardStep& step : steps) out += step.bytes;
          return out;
        };
        CHECK(found.reduced == doctest::Approx(sum(state.reductions(held))));
        CHECK(found.state == doctest::Approx(state.held(state.state, held)));
        if (zero < 3) {
          CHECK(found.gathered == doctest::Approx(sum(state.gathers(held))));
          CHECK(found.in_forward + found.in_backward == 0);
        } else {
          CHECK(found.gathered == 0);
          CHECK(found.in_forward == doctest::Approx(sum(state.gathers(held))));
          CHECK(found.in_backward <= found.in_forward);  // biases are not read again
          CHECK(found.in_backward > 0.999 * found.in_forward);
        }
      }
    }
  }
}
