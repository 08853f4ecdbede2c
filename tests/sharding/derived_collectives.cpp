// Nothing in the model or the lowering says where communication goes. These tests state what Megatron-LM's papers
// say it must be, and check that the rules and propagation derive exactly that.

#include "blocks_fixture.hpp"
#include "graph/backward.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>

using namespace mirfak;
using namespace mirfak::test;

namespace {

struct Count {
  int number = 0;
  double bytes = 0;
};

std::map<CollectiveKind, Count> count(const std::vector<BlockStep>& steps) {
  std::map<CollectiveKind, Count> out;
  for (const BlockStep& step : steps) {
    if (step.kind != BlockStep::Kind::collective) continue;
    CHECK(step.over == MeshAxisSet(MeshAxis::tensor));
    ++out[step.collective].number;
    out[step.collective].bytes += step.bytes;
  }
  return out;
}

Strategy tensor_parallel(int tensor, bool sequence_parallel) {
  Strategy strategy;
  strategy.tensor = tensor;
  strategy.data = 2;
  strategy.sequence_parallel = sequence_parallel;
  return strategy;
}

}  // namespace

TEST_CASE("a layer without tensor parallelism communicates nothing") {
  const PartitionedBlock layer = sharded_layer(small_gpt(), tensor_parallel(1, false));
  CHECK(count(layer.forward).empty());
  CHECK(count(layer.backward).empty());
}

TEST_CASE("tensor parallelism: two all-reduces of s b h forward and two backward (arXiv 1909.08053)") {
  const ModelSpec model = small_gpt();
  for (const bool fused : {false, true}) {
    for (const int tensor : {2, 4, 8}) {
      const Strategy strategy = tensor_parallel(tensor, false);
      const PartitionedBlock layer = sharded_layer(model, strategy, fused);
      const double activation = 2 * sbh(model, options_for(model, strategy), strategy);  // 16 bits
      for (const auto* pass : {&layer.forward, &layer.backward}) {
        const auto found = count(*pass);
        REQUIRE(found.size() == 1);
        CHECK(found.at(CollectiveKind::all_reduce).number == 2);
        CHECK(found.at(CollectiveKind::all_reduce).bytes == 2 * activation);
      }
    }
  }
}

TEST_CASE("sequence parallelism: the same volume as all-gathers and reduce-scatters (arXiv 2205.05198)") {
  const ModelSpec model = small_gpt();
  const Strategy strategy = tensor_parallel(4, true);
  const PartitionedBlock layer = sharded_layer(model, strategy);
  const double activation = 2 * sbh(model, options_for(model, strategy), strategy);

  // An all-reduce is an all-gather and a reduce-scatter: two all-reduces of s b h become two of each.
  const auto forward = count(layer.forward);
  CHECK(forward.size() == 2);
  CHECK(forward.at(CollectiveKind::all_gather).number == 2);
  CHECK(forward.at(CollectiveKind::all_gather).bytes == 2 * activation);
  CHECK(forward.at(CollectiveKind::reduce_scatter).number == 2);
  CHECK(forward.at(CollectiveKind::reduce_scatter).bytes == 2 * activation);

  // Backward as well, and the two inputs of the column-parallel products, kept sharded, are gathered again for
  // their weight gradients (section 4.2.2 of the paper).
  const auto backward = count(layer.backward);
  CHECK(backward.size() == 2);
  CHECK(backward.at(CollectiveKind::reduce_scatter).number == 2);
  CHECK(backward.at(CollectiveKind::all_gather).number == 4);
  CHECK(backward.at(CollectiveKind::all_gather).bytes == 4 * activation);
}

TEST_CASE("sequence parallelism: what a weight gradient gathers is on its way before the product in front of it") {
  const PartitionedBlock layer = sharded_layer(small_gpt(), tensor_parallel(4, true));
  const std::vector<BlockStep>& steps = layer.backward;
  const auto place = [&](const std::string& op, BlockStep::Kind kind) {
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (steps[i].kind == kind && layer.graph.op(steps[i].op).name == op) return i;
    }
    return steps.size();
  };
  for (const std::string product : {"mlp.up.up_weight", "qkv"}) {
    CAPTURE(product);
    const std::size_t gather = place("d_" + product + "_weight", BlockStep::Kind::collective);
    const std::size_t weight_gradient = place("d_" + product + "_weight", BlockStep::Kind::kernel);
    REQUIRE(weight_gradient < steps.size());
    CHECK(steps[gather].collective == CollectiveKind::all_gather);
    CHECK(steps[gather].after.empty());
    CHECK(gather < place("d_" + product, BlockStep::Kind::kernel));
    const std::vector<int>& after = steps[weight_gradient].after;
    CHECK(std::find(after.begin(), after.end(), static_cast<int>(gather)) != after.end());
  }
}

TEST_CASE("three products of one input: their gradients are reduced one by one, or added and reduced once") {
  const ModelSpec model = small_gpt();
  const Strategy strategy = tensor_parallel(4, true);
  BlockOptions options = options_for(model, strategy);
  options.fusion.packed_tags.clear();  // queries, keys and values are products of their own
  const auto backward_with = [&](GradientSums sums) {
    return partition(with_backward(build_layer_block(model, options), {}), mesh_of(strategy), axis_rules(strategy), {},
                     sums)
        .backward;
  };
  const std::vector<BlockStep> each = backward_with(GradientSums::behind_reducing);
  const std::vector<BlockStep> once = backward_with(GradientSums::before_reducing);
  CHECK(count(each).at(CollectiveKind::reduce_scatter).number == 4);
  CHECK(count(once).at(CollectiveKind::reduce_scatter).number == 2);
  CHECK(count(once).at(CollectiveKind::all_gather).number == count(each).at(CollectiveKind::all_gather).number);
  CHECK(once.size() == each.size() - 2);  // as many kernels
  // The added gradients are as long as the sequence, not as a rank's part of it.
  const auto longest_sum = [](const std::vector<BlockStep>& steps, const OperatorGraph& graph) {
    std::int64_t tokens = 0;
    for (const BlockStep& step : steps) {
      const Operator& op = graph.op(step.op);
      if (step.kind != BlockStep::Kind::kernel || !op.name.starts_with("add_gradients_attention_norm")) continue;
      tokens = std::max(tokens, step.local[index_of(graph.axis("sequence"))]);
    }
    return tokens;
  };
  const OperatorGraph graph = with_backward(build_layer_block(model, options), {});
  CHECK(longest_sum(once, graph) == model.max_sequence);
  CHECK(longest_sum(each, graph) == model.max_sequence / 4);
}

TEST_CASE("what products gathered and keep is not gathered again, and takes memory where it is not recomputed") {
  const ModelSpec model = small_gpt();
  const Strategy strategy = tensor_parallel(4, true);
  const BlockOptions options = options_for(model, strategy);
  OperatorGraph keeping = build_layer_block(model, options);
  for (Operator& op : keeping.operators) op.keeps_gathered = op.kind == OperatorKind::einsum && op.linear;
  const OperatorGraph graph = with_backward(std::move(keeping), {});
  const PartitionedBlock again = sharded_layer(model, strategy);
  const PartitionedBlock kept = partition(graph, mesh_of(strategy), axis_rules(strategy), {});
  CHECK(count(kept.backward).at(CollectiveKind::all_gather).number == 2);  // of gradients
  const double activation = 2 * sbh(model, options, strategy);
  CHECK(kept.kept_bytes - again.kept_bytes == doctest::Approx(2 * activation * 3 / 4));
  const PartitionedBlock recomputed = partition(graph, mesh_of(strategy), axis_rules(strategy), all_activations(graph));
  CHECK(recomputed.kept_bytes == doctest::Approx(activation / 4));  // the input
}

TEST_CASE("full recomputation repeats the forward pass with its collectives") {
  const ModelSpec model = small_gpt();
  for (const bool sequence_parallel : {false, true}) {
    Strategy strategy = tensor_parallel(4, sequence_parallel);
    strategy.recompute = Recompute::full;
    const PartitionedBlock layer = sharded_layer(model, strategy);
    const auto forward = count(layer.forward);
    const auto again = count(layer.recompute);
    REQUIRE(forward.size() == again.size());
    for (const auto& [kind, expected] : forward) {
      CHECK(again.at(kind).number == expected.number);
      CHECK(again.at(kind).bytes == expected.bytes);
    }
    CHECK(layer.recompute.size() == layer.forward.size());
  }
}

TEST_CASE("selective recomputation repeats the attention core, which needs no communication") {
  Strategy strategy = tensor_parallel(4, true);
  strategy.recompute = Recompute::selective;
  const PartitionedBlock layer = sharded_layer(small_gpt(), strategy);
  CHECK(count(layer.recompute).empty());
  std::vector<std::string> names;
  for (const BlockStep& step : layer.recompute) names.push_back(layer.graph.op(step.op).name);
  CHECK(names == std::vector<std::string>{"attention.context.scores", "attention.context.probabilities",
                                          "attention.context.dropout"});
}

TEST_CASE("vocabulary-parallel embedding: one all-reduce; with sequence parallelism one reduce-scatter") {
  const ModelSpec model = small_gpt();
  for (const bool sequence_parallel : {false, true}) {
    const Strategy strategy = tensor_parallel(4, sequence_parallel);
    const BlockOptions options = options_for(model, strategy);
    const PartitionedBlock block = partition(with_backward(build_embedding_block(model, options), {}),
                                             mesh_of(strategy), axis_rules(strategy), {});
    const auto forward = count(block.forward);
    REQUIRE(forward.size() == 1);
    const CollectiveKind expected = sequence_parallel ? CollectiveKind::reduce_scatter : CollectiveKind::all_reduce;
    CHECK(forward.at(expected).number == 1);
    CHECK(forward.at(expected).bytes == 2 * sbh(model, options, strategy));
    CHECK(count(block.backward).size() == (sequence_parallel ? 1 : 0));  // the gradient is gathered
  }
}

TEST_CASE("vocabulary-parallel loss: three all-reduces of one number per token, one of s b h backward") {
  const ModelSpec model = small_gpt();
  const Strategy strategy = tensor_parallel(4, false);
  const BlockOptions options = options_for(model, strategy);
  const PartitionedBlock block =
      partition(with_backward(build_head_block(model, options), {}), mesh_of(strategy), axis_rules(strategy), {});
  const auto forward = count(block.forward);
  REQUIRE(forward.size() == 1);
  CHECK(forward.at(CollectiveKind::all_reduce).number == 3);
  CHECK(forward.at(CollectiveKind::all_reduce).bytes == 3 * 4.0 * 64 * 2);  // fp32 x tokens of a microbatch
  const auto backward = count(block.backward);
  REQUIRE(backward.size() == 1);
  CHECK(backward.at(CollectiveKind::all_reduce).number == 1);
  CHECK(backward.at(CollectiveKind::all_reduce).bytes == 2 * sbh(model, options, strategy));
}

TEST_CASE("logits that every tensor rank gathers: one all-gather of them, a whole softmax, and no sums over classes") {
  const ModelSpec model = small_gpt();
  const Strategy strategy = tensor_parallel(4, false);
  const BlockOptions options = options_for(model, strategy);
  const auto head_by = [&](bool gathers) {
    return partition(with_backward(build_head_block(model, options), {}), mesh_of(strategy),
                     axis_rules(strategy, true, gathers), {});
  };
  const PartitionedBlock gathered = head_by(true);
  const PartitionedBlock divided = head_by(false);
  const double logits = 64.0 * 2 * static_cast<double>(model.vocab);  // tokens of a microbatch x classes
  const auto forward = count(gathered.forward);
  REQUIRE(forward.size() == 1);
  CHECK(forward.at(CollectiveKind::all_gather).number == 1);
  CHECK(forward.at(CollectiveKind::all_gather).bytes == 2 * logits);
  // Each rank takes its classes of the gradient, which it has whole; the gradient of the stream is summed as before.
  const auto backward = count(gathered.backward);
  REQUIRE(backward.size() == 1);
  CHECK(backward.at(CollectiveKind::all_reduce).number == 1);
  CHECK(backward.at(CollectiveKind::all_reduce).bytes == 2 * sbh(model, options, strategy));
  // A rank keeps the softmax, fp32, of all classes instead of its own.
  CHECK(gathered.kept_bytes - divided.kept_bytes == doctest::Approx(4 * logits * 3 / 4));
}

TEST_CASE("gradients wait as partial sums over the replicas; norms also over tokens with sequence parallelism") {
  for (const bool sequence_parallel : {false, true}) {
    const PartitionedBlock layer = sharded_layer(small_gpt(), tensor_parallel(4, sequence_parallel));
    for (const ParameterShard& shard : layer.parameters) {
      const std::string& name = layer.graph.tensor(shard.tensor).name;
      INFO(name);
      CHECK(shard.gradient_partial.contains(MeshAxis::data));
      const bool on_residual = name.find("norm") != std::string::npos || name == "attention_bias" || name == "mlp_bias";
      CHECK(shard.gradient_partial.contains(MeshAxis::tensor) == (sequence_parallel && on_residual));
    }
  }
}

TEST_CASE("grouped-query attention shards key and value heads with the queries") {
  ModelSpec model = small_gpt();
  model.kv_heads = 4;
  const Strategy strategy = tensor_parallel(4, false);
  const PartitionedBlock layer = sharded_layer(model, strategy, true);
  CHECK(count(layer.forward).at(CollectiveKind::all_reduce).number == 2);
  CHECK(count(layer.forward).size() == 1);
  for (const ParameterShard& shard : layer.parameters) {
    if (layer.graph.tensor(shard.tensor).name != "qkv_weight") continue;
    CHECK(shard.elements == 128.0 * (8 + 2 * 4) * 16 / 4);
  }
}
