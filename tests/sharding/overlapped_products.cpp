// Tensor-parallel collectives overlapped with the products around them: one rule on the rows of products.

#include "blocks_fixture.hpp"
#include "sharding/axis_rules.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>

using namespace mirfak;
using namespace mirfak::test;

namespace {

Strategy overlapped(int tensor) {
  Strategy strategy;
  strategy.tensor = tensor;
  strategy.sequence_parallel = true;
  strategy.overlap_tensor = true;
  return strategy;
}

// The bytes that each rank sends, by the collective's definition on a ring.
double bytes_sent(const std::vector<BlockStep>& steps, int ranks) {
  double bytes = 0;
  for (const BlockStep& step : steps) {
    if (step.kind != BlockStep::Kind::collective) continue;
    bytes += step.collective == CollectiveKind::shift ? step.bytes : step.bytes * (ranks - 1) / ranks;
  }
  return bytes;
}

std::map<std::string, int> pieces_of(const PartitionedBlock& layer, const std::vector<BlockStep>& steps) {
  std::map<std::string, int> out;
  for (const BlockStep& step : steps) {
    if (step.kind == BlockStep::Kind::kernel) ++out[layer.graph.op(step.op).name];
  }
  return out;
}

}  // namespace

TEST_CASE("the four products of a layer run in tp pieces forward, and send what the collectives would") {
  for (const int tensor : {2, 4, 8}) {
    Strategy strategy = overlapped(tensor);
    const PartitionedBlock layer = sharded_layer(small_gpt(), strategy, true);
    strategy.overlap_tensor = false;
    const PartitionedBlock plain = sharded_layer(small_gpt(), strategy, true);
    auto pieces = pieces_of(layer, layer.forward);
    for (const char* product : {"qkv", "attention.out", "mlp.up.up_weight", "mlp.out"}) {
      CHECK_MESSAGE(pieces[product] == tensor, product);
    }
    for (const BlockStep& step : layer.forward) {
      if (step.kind == BlockStep::Kind::collective) CHECK(step.collective == CollectiveKind::shift);
      if (step.pieces > 1) CHECK(local(layer, step, "sequence") == 64 / tensor);
    }
    CHECK(bytes_sent(layer.forward, tensor) == bytes_sent(plain.forward, tensor));
    CHECK(bytes_sent(layer.backward, tensor) == bytes_sent(plain.backward, tensor));
    CHECK(layer.kept_bytes == plain.kept_bytes);
  }
}

TEST_CASE("backward: gathered gradients in pieces, sums beside weight gradients as they are without") {
  const PartitionedBlock layer = sharded_layer(small_gpt(), overlapped(4), true);
  auto pieces = pieces_of(layer, layer.backward);
  CHECK(pieces["d_attention.out"] == 4);
  CHECK(pieces["d_mlp.out"] == 4);
  CHECK(pieces["d_qkv"] == 1);
  CHECK(pieces["d_mlp.up.up_weight"] == 1);
  int scattered = 0;
  for (const BlockStep& step : layer.backward) {
    const bool collective = step.kind == BlockStep::Kind::collective;
    scattered += collective && step.collective == CollectiveKind::reduce_scatter ? 1 : 0;
  }
  CHECK(scattered == 2);
}

TEST_CASE("user buffers that overlap gathers only leave what is scattered as it is") {
  const Strategy strategy = overlapped(4);
  const std::vector<OperatorGraph> blocks = blocks_of(small_gpt(), strategy, true);  // embedding, layer, head
  const PartitionedBlock layer = partition(blocks[1], mesh_of(strategy), axis_rules(strategy, false), {});
  auto pieces = pieces_of(layer, layer.forward);
  CHECK(pieces["qkv"] == 4);
  CHECK(pieces["mlp.up.up_weight"] == 4);
  CHECK(pieces["attention.out"] == 1);
  CHECK(pieces["mlp.out"] == 1);
  int scattered = 0;
  for (const BlockStep& step : layer.forward) {
    const bool collective = step.kind == BlockStep::Kind::collective;
    scattered += collective && step.collective == CollectiveKind::reduce_scatter ? 1 : 0;
  }
  CHECK(scattered == 2);
  CHECK(pieces_of(layer, layer.backward)["d_mlp.out"] == 4);
}

TEST_CASE("a piece waits for its rows; the next rows are on their way meanwhile") {
  const PartitionedBlock layer = sharded_layer(small_gpt(), overlapped(4), true);
  int shift = -1;
  for (int i = 0; i < static_cast<int>(layer.forward.size()); ++i) {
    const BlockStep& step = layer.forward[static_cast<std::size_t>(i)];
    const std::string& name = layer.graph.op(step.op).name;
    const bool shifts = step.kind == BlockStep::Kind::collective;
    if (name == "mlp.up.up_weight" && !shifts && step.piece > 0) {
      const auto& rows = layer.forward[static_cast<std::size_t>(step.after.front())];
      CHECK(rows.kind == BlockStep::Kind::collective);
      if (step.piece + 1 < step.pieces) CHECK(shift > step.after.front());  // the next was issued before
    }
    if (name == "mlp.out" && shifts) {
      const auto from_kernel = [&](int before) {
        return layer.forward[static_cast<std::size_t>(before)].kind == BlockStep::Kind::kernel;
      };
      CHECK(std::any_of(step.after.begin(), step.after.end(), from_kernel));
    }
    if (shifts) shift = i;
  }
}
