// A scan runs over all tokens of a sequence. These tests state what divides it.

#include "sharding/partition.hpp"
#include "support/graph_writer.hpp"

#include <doctest/doctest.h>

#include <map>
#include <utility>

using namespace mirfak;
using namespace mirfak::test;

namespace {

constexpr std::int64_t kBatch = 2, kTokens = 64, kHeads = 8, kWidth = 16, kState = 32;

OperatorGraph scan_block() {
  GraphWriter w;
  const Axis b = w.axis("b", kBatch, Parallelism::data), s = w.axis("s", kTokens, Parallelism::tokens);
  const Axis h = w.axis("h", kHeads, Parallelism::tensor), p = w.axis("p", kWidth), n = w.axis("n", kState);
  const std::vector<TensorId> operands = {w.stream("x", {b, s, h, p}), w.stream("step", {b, s, h}),
                                          w.stream("in", {b, s, n}), w.stream("out", {b, s, n})};
  w.graph.outputs = {w.activation("y", {b, s, h, p})};
  Operator& op = w.op("scan", OperatorKind::scan, operands, w.graph.outputs);
  op.over = {s, n};
  op.chunk = 16;
  op.saved = operands;
  return with_backward(std::move(w.graph), {});
}

PartitionedBlock with_context_ranks(ContextCommunication how) {
  Strategy strategy;
  strategy.context = 4;
  strategy.context_communication = how;
  return partition(scan_block(), mesh_of(strategy), axis_rules(strategy), {});
}

using Sent = std::map<std::pair<std::string, CollectiveKind>, double>;

Sent collectives(const PartitionedBlock& block, const std::vector<BlockStep>& steps) {
  Sent out;
  for (const BlockStep& step : steps) {
    if (step.kind == BlockStep::Kind::collective) {
      out[{block.graph.tensor(step.tensor).name, step.collective}] += step.bytes;
    }
  }
  return out;
}

std::int64_t local(const PartitionedBlock& block, const BlockStep& step, const char* axis) {
  return step.local[index_of(block.graph.axis(axis))];
}

}  // namespace

TEST_CASE("context ranks divide a scan by heads: what has heads changes places, what they share is gathered") {
  for (const auto how : {ContextCommunication::p2p, ContextCommunication::all_to_all}) {
    const PartitionedBlock block = with_context_ranks(how);
    const double rows = 2.0 * kBatch * kTokens / 4;  // of 16-bit elements on a rank
    CHECK(collectives(block, block.forward) == Sent{{{"x", CollectiveKind::all_to_all}, rows * kHeads * kWidth},
                                                    {{"step", CollectiveKind::all_to_all}, rows * kHeads},
                                                    {{"in", CollectiveKind::all_gather}, 4 * rows * kState},
                                                    {{"out", CollectiveKind::all_gather}, 4 * rows * kState},
                                                    {{"y", CollectiveKind::all_to_all}, rows * kHeads * kWidth}});
    for (const BlockStep& step : block.forward) {
      if (step.kind != BlockStep::Kind::kernel) continue;
      CHECK(local(block, step, "s") == kTokens);
      CHECK(local(block, step, "h") == kHeads / 4);
    }
    // Gradients of what all heads share are sums over ranks, back where the tokens lie.
    const Sent back = collectives(block, block.backward);
    CHECK(back.at({"d_in", CollectiveKind::reduce_scatter}) == 4 * rows * kState);
    CHECK(back.at({"d_x", CollectiveKind::all_to_all}) == rows * kHeads * kWidth);
  }
}

TEST_CASE("where context ranks gather, each scans all tokens") {
  const PartitionedBlock block = with_context_ranks(ContextCommunication::all_gather);
  const Sent sent = collectives(block, block.forward);
  CHECK(sent.size() == 4);
  for (const auto& [what, bytes] : sent) CHECK(what.second == CollectiveKind::all_gather);
}
