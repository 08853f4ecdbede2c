#include "sharding/propagation.hpp"

#include "blocks_fixture.hpp"
#include "graph/backward.hpp"

#include <doctest/doctest.h>

using namespace mirfak;
using namespace mirfak::test;

namespace {

Sharding sharding_of(const OperatorGraph& graph, const std::vector<Sharding>& shardings, const std::string& name) {
  for (std::size_t id = 0; id < graph.tensors.size(); ++id) {
    if (graph.tensors[id].name == name) return shardings[id];
  }
  FAIL("no tensor ", name);
  return {};
}

}  // namespace

TEST_CASE("a few annotations complete to the sharding of every tensor") {
  Strategy strategy;
  strategy.tensor = 4;
  strategy.data = 2;
  strategy.sequence_parallel = true;
  const ModelSpec model = small_gpt();
  const OperatorGraph graph = with_backward(build_layer_block(model, options_for(model, strategy)), {});
  const std::vector<Sharding> found = propagate(graph, axis_rules(strategy));
  REQUIRE(found.size() == graph.tensors.size());

  const MeshAxisSet data(MeshAxis::data);
  const MeshAxisSet tensor(MeshAxis::tensor);
  const MeshAxisSet none;
  using Axes = InlineList<MeshAxisSet, kMaxRank>;
  // The residual stream by tokens, everything between two products by heads or by the MLP's inner axis.
  CHECK(sharding_of(graph, found, "attention_norm.out").axes == Axes{data, tensor, none});
  CHECK(sharding_of(graph, found, "attention.out").axes == Axes{data, tensor, none});
  CHECK(sharding_of(graph, found, "mlp_residual").axes == Axes{data, tensor, none});
  CHECK(sharding_of(graph, found, "attention.projected_query").axes == Axes{data, none, tensor, none, none});
  CHECK(sharding_of(graph, found, "attention.context.scores").axes == Axes{data, tensor, none, none, none});
  CHECK(sharding_of(graph, found, "mlp.inner").axes == Axes{data, none, tensor});
  CHECK(sharding_of(graph, found, "mlp.up_bias").axes == Axes{tensor});
  CHECK(sharding_of(graph, found, "d_attention.projected_query").axes ==
        sharding_of(graph, found, "attention.projected_query").axes);
  for (const Sharding& sharding : found) CHECK(sharding.partial.empty());
}

TEST_CASE("an operator gives one mesh axis to one label; parameters come first") {
  Strategy strategy;
  strategy.tensor = 4;
  strategy.sequence_parallel = true;
  const ModelSpec model = small_gpt();
  const OperatorGraph graph = build_layer_block(model, options_for(model, strategy));
  const std::vector<Sharding> all = propagate(graph, axis_rules(strategy));
  const std::vector<std::optional<Sharding>> known(all.begin(), all.end());
  for (const Operator& op : graph.operators) {
    int tensor_labels = 0;
    const LabelSharding labels = divide_labels(graph, op, known);
    for (const MeshAxisSet axes : labels) tensor_labels += axes.contains(MeshAxis::tensor) ? 1 : 0;
    INFO(op.name);
    CHECK(tensor_labels == 1);
    if (op.name == "mlp.up.up_weight") CHECK(labels[index_of(graph.axis("ffn"))].contains(MeshAxis::tensor));
  }
}
