// Context parallelism is two or three rules on axes. These tests state what must follow from them: tokens divided
// everywhere, and keys and values exchanged as the published schemes do.

#include "blocks_fixture.hpp"
#include "support/graph_writer.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>

using namespace mirfak;
using namespace mirfak::test;

namespace {

Strategy context_parallel(int context, ContextCommunication communication, int tensor = 1) {
  Strategy strategy;
  strategy.context = context;
  strategy.tensor = tensor;
  strategy.context_communication = communication;
  strategy.sequence_parallel = tensor > 1;
  return strategy;
}

bool is_attention(const PartitionedBlock& block, const BlockStep& step) {
  return step.kind == BlockStep::Kind::kernel && block.graph.op(step.op).kind == OperatorKind::attention;
}

struct Traffic {
  int number = 0;
  double bytes = 0;
};

// Counts the traffic over the context axis only.
std::map<CollectiveKind, Traffic> traffic(const std::vector<BlockStep>& steps) {
  std::map<CollectiveKind, Traffic> out;
  for (const BlockStep& step : steps) {
    if (step.kind != BlockStep::Kind::collective || step.over != MeshAxisSet(MeshAxis::context)) continue;
    ++out[step.collective].number;
    out[step.collective].bytes += step.bytes;
  }
  return out;
}

// Bytes of keys (or values) of a microbatch of 2 sequences, on one tensor rank.
double key_bytes(const ModelSpec& model, int tensor) {
  return 2.0 * 2 * static_cast<double>(model.max_sequence * model.kv_heads * model.head_dim) / tensor;
}

ModelSpec grouped_gpt() {
  ModelSpec model = small_gpt();
  model.kv_heads = 4;
  return model;
}

}  // namespace

TEST_CASE("every kernel outside attention works on the tokens of one rank") {
  const ModelSpec model = small_gpt();
  for (const auto how :
       {ContextCommunication::p2p, ContextCommunication::all_gather, ContextCommunication::all_to_all}) {
    const PartitionedBlock layer = sharded_layer(model, context_parallel(4, how), true);
    for (const auto* pass : {&layer.forward, &layer.backward}) {
      for (const BlockStep& step : *pass) {
        if (step.kind != BlockStep::Kind::kernel || is_attention(layer, step)) continue;
        const Operator& op = layer.graph.op(step.op);
        const auto& labels = op.inputs.front().labels;
        if (!labels.contains(layer.graph.axis("sequence"))) continue;
        CHECK_MESSAGE(local(layer, step, "sequence") == model.max_sequence / 4, op.name);
      }
    }
    CHECK(layer.kept_bytes == sharded_layer(model, context_parallel(1, how), true).kept_bytes / 4);
  }
}

TEST_CASE("ring: keys and values pass cp - 1 times forward, with their gradients once more backward") {
  const ModelSpec model = grouped_gpt();
  for (const int tensor : {1, 2}) {
    for (const int context : {2, 4, 8}) {
      const auto strategy = context_parallel(context, ContextCommunication::p2p, tensor);
      const PartitionedBlock layer = sharded_layer(model, strategy, true);
      const double piece = 2 * key_bytes(model, tensor) / context;  // keys and values of one rank
      const auto forward = traffic(layer.forward);
      REQUIRE(forward.size() == 1);
      CHECK(forward.at(CollectiveKind::shift).number == context - 1);
      CHECK(forward.at(CollectiveKind::shift).bytes == (context - 1) * piece);
      const auto backward = traffic(layer.backward);
      REQUIRE(backward.size() == 1);
      CHECK(backward.at(CollectiveKind::shift).number == context);
      CHECK(backward.at(CollectiveKind::shift).bytes == 2 * (context - 1) * piece);
    }
  }
}

TEST_CASE("ring: each kernel but the first waits for one shift, and runs beside the next") {
  const PartitionedBlock layer = sharded_layer(small_gpt(), context_parallel(4, ContextCommunication::p2p), true);
  for (const auto* pass : {&layer.forward, &layer.backward}) {
    std::vector<int> kernels;
    std::vector<int> shifts;
    for (int i = 0; i < static_cast<int>(pass->size()); ++i) {
      const BlockStep& step = (*pass)[static_cast<std::size_t>(i)];
      if (is_attention(layer, step)) {
        CHECK(step.pieces == 4);
        CHECK(step.piece == static_cast<int>(kernels.size()));
        CHECK(local(layer, step, "sequence'") == 64 / 4);
        if (!kernels.empty()) CHECK(step.after == std::vector<int>{shifts[kernels.size() - 1]});
        kernels.push_back(i);
      } else if (step.kind == BlockStep::Kind::collective) {
        const bool waits_for_kernel = std::any_of(step.after.begin(), step.after.end(), [&](int before) {
          return std::find(kernels.begin(), kernels.end(), before) != kernels.end();
        });
        CHECK(waits_for_kernel == (pass == &layer.backward && !shifts.empty()));  // for the gradients it adds
        shifts.push_back(i);
      }
    }
    CHECK(kernels.size() == 4);
  }
}

TEST_CASE("all-gather: keys and values whole; backward gathers them again and scatters their gradients") {
  const ModelSpec model = grouped_gpt();
  const auto strategy = context_parallel(4, ContextCommunication::all_gather, 2);
  const PartitionedBlock layer = sharded_layer(model, strategy, true);
  const double both = 2 * key_bytes(model, 2);
  const auto forward = traffic(layer.forward);
  REQUIRE(forward.size() == 1);
  CHECK(forward.at(CollectiveKind::all_gather).number == 2);
  CHECK(forward.at(CollectiveKind::all_gather).bytes == both);
  const auto backward = traffic(layer.backward);
  REQUIRE(backward.size() == 2);
  CHECK(backward.at(CollectiveKind::all_gather).bytes == both);
  CHECK(backward.at(CollectiveKind::reduce_scatter).bytes == both);
}

TEST_CASE(
    "groups that divide heads: all-to-alls within them, a ring of as many bytes a shift and fewer shifts between") {
  const ModelSpec model = grouped_gpt();
  for (const int heads : {2, 4}) {
    Strategy strategy = context_parallel(8, ContextCommunication::p2p);
    strategy.context_heads = heads;
    const PartitionedBlock mixed = sharded_layer(model, strategy, true);
    const PartitionedBlock ring = sharded_layer(model, context_parallel(8, ContextCommunication::p2p), true);
    const double piece = 2 * key_bytes(model, 1) / 8;
    const auto shifts = traffic(mixed.forward);
    REQUIRE(shifts.size() == 1);
    CHECK(shifts.at(CollectiveKind::shift).number == 8 / heads - 1);
    CHECK(shifts.at(CollectiveKind::shift).bytes == (8.0 / heads - 1) * piece);
    CHECK(traffic(mixed.backward).at(CollectiveKind::shift).bytes == 2 * (8.0 / heads - 1) * piece);
    // Queries, keys and values go to their heads' ranks; the result comes back, and what backward needs of the softmax.
    int exchanges = 0;
    for (const BlockStep& step : mixed.forward) {
      if (step.kind != BlockStep::Kind::collective || step.over != MeshAxisSet(MeshAxis::heads)) continue;
      CHECK(step.collective == CollectiveKind::all_to_all);
      ++exchanges;
    }
    CHECK(exchanges == 5);
    for (const BlockStep& step : mixed.forward) {
      if (is_attention(mixed, step)) CHECK(local(mixed, step, "sequence'") == model.max_sequence * heads / 8);
    }
    CHECK(mixed.kept_bytes == ring.kept_bytes);
  }
}

TEST_CASE("all-to-all: queries, keys, values and the result change from tokens to heads and back, each way") {
  const ModelSpec model = grouped_gpt();
  const auto strategy = context_parallel(2, ContextCommunication::all_to_all, 2);
  const PartitionedBlock layer = sharded_layer(model, strategy, true);
  const double key = key_bytes(model, 2) / 2;
  const double query = key * static_cast<double>(model.heads) / static_cast<double>(model.kv_heads);
  const double statistics = 2.0 * 4 * static_cast<double>(model.max_sequence * model.heads) / 2 / 2;
  const auto forward = traffic(layer.forward);
  REQUIRE(forward.size() == 1);
  CHECK(forward.at(CollectiveKind::all_to_all).bytes == 2 * query + 2 * key + statistics);
  const auto backward = traffic(layer.backward);
  REQUIRE(backward.size() == 1);
  CHECK(backward.at(CollectiveKind::all_to_all).number == 4);
  CHECK(backward.at(CollectiveKind::all_to_all).bytes == 2 * query + 2 * key);
}

TEST_CASE("a short convolution along tokens exchanges the tokens at the edges, each way and for its taps") {
  GraphWriter w;
  const Axis b = w.axis("b", 2, Parallelism::data), s = w.axis("s", 64, Parallelism::tokens), h = w.axis("h", 16);
  const Axis p = w.axis("taps", 4);
  const TensorId x = w.stream("x", {b, s, h}), taps = w.parameter("k", {h, p});
  w.graph.outputs = {w.activation("y", {b, s, h})};
  Operator& op = w.op("convolution", OperatorKind::elementwise, {x, taps}, w.graph.outputs);
  op.inputs[0].windows = {{1, s, p, 1, 1, -3}};
  op.function = "depthwise_convolution";
  op.saved = {x, taps};
  Strategy strategy;
  strategy.context = 4;
  const PartitionedBlock block =
      partition(with_backward(std::move(w.graph), {}), mesh_of(strategy), axis_rules(strategy), {});
  const double rows = 2.0 * 2 * 3 * 16;  // 3 tokens of 2 sequences
  const auto sent = [&](const std::vector<BlockStep>& steps) {
    std::vector<std::string> out;
    for (const BlockStep& step : steps) {
      if (step.kind != BlockStep::Kind::collective) continue;
      CHECK(step.collective == CollectiveKind::shift);
      CHECK(step.over == MeshAxisSet(MeshAxis::context));
      CHECK(step.bytes == rows);
      out.push_back(block.graph.tensor(step.tensor).name);
    }
    return out;
  };
  CHECK(sent(block.forward) == std::vector<std::string>{"x"});
  CHECK(sent(block.backward) == std::vector<std::string>{"x", "d_x", "x"});
  CHECK(block.parameters.front().gradient_partial.contains(MeshAxis::context));
}

TEST_CASE("gradients are partial sums over replicas and context ranks alike") {
  for (const int tensor : {1, 2}) {
    const PartitionedBlock layer =
        sharded_layer(small_gpt(), context_parallel(4, ContextCommunication::p2p, tensor), true);
    for (const ParameterShard& shard : layer.parameters) {
      CHECK_MESSAGE(shard.gradient_partial.contains(MeshAxis::context), layer.graph.tensor(shard.tensor).name);
    }
  }
}

TEST_CASE("attention that is not fused gathers keys and values, whatever was asked for") {
  const PartitionedBlock layer = sharded_layer(small_gpt(), context_parallel(4, ContextCommunication::p2p), false);
  const auto forward = traffic(layer.forward);
  REQUIRE(forward.size() == 1);
  CHECK(forward.at(CollectiveKind::all_gather).bytes == 2 * key_bytes(small_gpt(), 1));
}
