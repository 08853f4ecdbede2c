// Expert parallelism is a handful of rules on axes. These tests state what must follow: rows of tokens exchanged by
// all-to-alls, experts' parameters divided, and gradients summed over the ranks that hold the same experts.

#include "blocks_fixture.hpp"
#include "graph/backward.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>

using namespace mirfak;
using namespace mirfak::test;

namespace {

ModelSpec small_mixture() {
  ModelSpec model = small_gpt();
  model.dropout = 0;
  model.linear_bias = model.qkv_bias = false;
  model.mixture = {.experts = 16, .per_token = 4, .ffn = 64, .shared_ffn = 0, .first_dense = 0, .every = 1};
  return model;
}

struct Layout {
  int tensor = 1;
  int context = 1;
  int data = 1;
  int expert = 1;
  int expert_tensor = 1;
};

Strategy strategy_of(const Layout& layout) {
  Strategy strategy;
  strategy.tensor = layout.tensor;
  strategy.context = layout.context;
  strategy.data = layout.data;
  strategy.expert = layout.expert;
  strategy.expert_tensor = layout.expert_tensor;
  strategy.sequence_parallel = layout.tensor > 1;
  return strategy;
}

PartitionedBlock expert_layer(const Layout& layout) {
  const ModelSpec model = small_mixture();
  const Strategy strategy = strategy_of(layout);
  BlockOptions options = options_for(model, strategy);
  options.fused_attention = true;
  OperatorGraph graph = with_backward(build_layer_block(model, options, {.experts = true, .window = 0}), {});
  return partition(std::move(graph), mesh_of(strategy), axis_rules(strategy), {});
}

// Bytes of collectives of rows, by kind.
std::map<CollectiveKind, double> rows_exchanged(const PartitionedBlock& block, const std::vector<BlockStep>& steps) {
  std::map<CollectiveKind, double> out;
  for (const BlockStep& step : steps) {
    if (step.kind != BlockStep::Kind::collective) continue;
    const Tensor& tensor = block.graph.tensor(step.tensor);
    const bool rows = tensor.density < 1 && tensor.axes.contains(block.graph.axis("hidden"));
    if (rows) out[step.collective] += step.bytes;
  }
  return out;
}

double expert_parameters(const PartitionedBlock& block) {
  double elements = 0;
  for (const ParameterShard& shard : block.parameters) {
    if (block.graph.tensor(shard.tensor).axes.front() == block.graph.axis("experts")) elements += shard.elements;
  }
  return elements;
}

const BlockStep& kernel(const PartitionedBlock& block, const std::vector<BlockStep>& steps, const std::string& name) {
  return *std::find_if(steps.begin(), steps.end(), [&](const BlockStep& step) {
    return step.kind == BlockStep::Kind::kernel && block.graph.op(step.op).name == name;
  });
}

// A microbatch of 2 sequences of 64 tokens for each replica, 128 wide, 4 experts a token, bf16.
constexpr double kRows = 2.0 * 64 * 128 * 4 * 2;

}  // namespace

TEST_CASE("without expert parallelism nothing is exchanged") {
  const PartitionedBlock layer = expert_layer({.data = 4});
  CHECK(rows_exchanged(layer, layer.forward).empty());
  CHECK(rows_exchanged(layer, layer.backward).empty());
  CHECK(expert_parameters(layer) == 16 * 2 * 128 * 64);
}

TEST_CASE("over replicas: an all-to-all there and one back, forward and backward, of all rows of a rank") {
  for (const int expert : {2, 4, 8}) {
    CAPTURE(expert);
    const PartitionedBlock layer = expert_layer({.data = 8, .expert = expert});
    for (const auto* steps : {&layer.forward, &layer.backward}) {
      const auto exchanged = rows_exchanged(layer, *steps);
      REQUIRE(exchanged.size() == 1);
      CHECK(exchanged.at(CollectiveKind::all_to_all) == 2 * kRows);
    }
    CHECK(expert_parameters(layer) == 16.0 / expert * 2 * 128 * 64);
    const BlockStep& up = kernel(layer, layer.forward, "experts.up.up_weight");
    CHECK(local(layer, up, "experts") == 16 / expert);
    CHECK(local(layer, up, "batch") == 2 * expert);  // tokens of all ranks of the group
    CHECK(local(layer, kernel(layer, layer.forward, "experts.router"), "batch") == 2);
  }
}

TEST_CASE("over tensor and data ranks, experts whole: one all-to-all moves both axes") {
  const PartitionedBlock layer = expert_layer({.tensor = 2, .data = 8, .expert = 8});
  const auto exchanged = rows_exchanged(layer, layer.forward);
  REQUIRE(exchanged.size() == 1);
  CHECK(exchanged.at(CollectiveKind::all_to_all) == 2 * kRows / 2);  // tokens are divided over the tensor ranks
  const BlockStep& up = kernel(layer, layer.forward, "experts.up.up_weight");
  CHECK(local(layer, up, "experts") == 2);
  CHECK(local(layer, up, "expert_ffn") == 64);
  for (const BlockStep& step : layer.forward) {
    if (step.collective == CollectiveKind::all_to_all && step.kind == BlockStep::Kind::collective) {
      CHECK(step.over == MeshAxisSet{MeshAxis::expert, MeshAxis::tensor});
    }
  }
}

TEST_CASE("tensor ranks that divide each expert gather rows and reduce-scatter results") {
  const PartitionedBlock layer = expert_layer({.tensor = 2, .data = 8, .expert = 4, .expert_tensor = 2});
  const auto exchanged = rows_exchanged(layer, layer.forward);
  CHECK(exchanged.at(CollectiveKind::all_to_all) == 2 * kRows / 2);
  CHECK(exchanged.at(CollectiveKind::all_gather) == kRows);
  CHECK(exchanged.at(CollectiveKind::reduce_scatter) == kRows);
  CHECK(local(layer, kernel(layer, layer.forward, "experts.up.up_weight"), "expert_ffn") == 32);
  CHECK(expert_parameters(layer) == 16.0 / 4 * 2 * 128 * 64 / 2);
}

TEST_CASE("what an expert makes inside stays divided where the expert is") {
  const PartitionedBlock layer = expert_layer({.tensor = 2, .data = 8, .expert = 4, .expert_tensor = 2});
  for (const auto* steps : {&layer.forward, &layer.backward}) {
    for (const BlockStep& step : *steps) {
      if (step.kind != BlockStep::Kind::collective) continue;
      CHECK_FALSE(layer.graph.tensor(step.tensor).axes.contains(layer.graph.axis("expert_ffn")));
    }
  }
}

TEST_CASE("over context ranks: tokens of a sequence meet other experts") {
  const PartitionedBlock layer = expert_layer({.context = 2, .data = 4, .expert = 4});
  const auto exchanged = rows_exchanged(layer, layer.forward);
  CHECK(exchanged.at(CollectiveKind::all_to_all) == 2 * kRows / 2);
  CHECK(local(layer, kernel(layer, layer.forward, "experts.up.up_weight"), "experts") == 4);
}

TEST_CASE("gradients of experts are sums over fewer ranks than those of the rest") {
  const PartitionedBlock layer = expert_layer({.data = 8, .expert = 4});
  for (const ParameterShard& shard : layer.parameters) {
    const Tensor& tensor = layer.graph.tensor(shard.tensor);
    CAPTURE(tensor.name);
    CHECK(shard.gradient_partial.contains(MeshAxis::data));
    CHECK(shard.gradient_partial.contains(MeshAxis::expert) == (tensor.axes.front() != layer.graph.axis("experts")));
  }
}
