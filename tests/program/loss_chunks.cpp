// Head and loss in chunks of the tokens: the logits' memory is gone, the products are as many smaller ones.

#include "job_fixture.hpp"
#include "program/block_memory.hpp"
#include "program/memory.hpp"
#include "sharding/row_chunks.hpp"
#include "support/frameworks.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

namespace loss_chunks_test {

using namespace mirfak;
using namespace mirfak::test;

namespace {

// Hidden 1024, 128 Ki classes.
Job job_of(int chunks, const char* framework = "torchtitan", int micro_batch = 2) {
  Strategy s = sized(1, 8, 1);
  s.zero = 3;
  s.micro_batch = micro_batch;
  Job job = small_job(4, 1, s, 8 * micro_batch);
  job.framework = test::framework_named(framework);
  job.model.vocab = 128 * 1024;
  job.training.loss_chunks = chunks;
  return job;
}

// Tokens of a microbatch.
double tokens_of(const Job& job) {
  return static_cast<double>(job.training.sequence_length) * job.strategy.micro_batch;
}

const PartitionedBlock& head_of(const ShardedBlocks& blocks) { return blocks.all.back(); }

BlockMemory head_memory(const Job& job) {
  const ShardedBlocks blocks = shard_blocks(job);
  return block_memory(head_of(blocks), mesh_of(job.strategy), job.framework);
}

// Number of chunks of the products of the head, and their FLOPs, forward and backward.
struct Products {
  double chunks = 0;
  double flop = 0;
  double seconds = 0;
};
Products products_of(const Job& job) {
  const Lowered lowered(job);
  const PartitionedBlock& head = head_of(lowered.blocks);
  Products out;
  for (const std::vector<BlockStep>* steps : {&head.forward, &head.backward}) {
    for (const BlockStep& step : *steps) {
      if (step.kind != BlockStep::Kind::kernel || head.graph.op(step.op).kind != OperatorKind::einsum) continue;
      const KernelCost cost = lowered.plans.front().costs.kernels.price(head, step);
      out.chunks = std::max(out.chunks, chunks_of(head.graph, step));
      out.flop += cost.flop;
      out.seconds += cost.seconds;
    }
  }
  return out;
}

}  // namespace

TEST_CASE("n chunks: an n-th of the logits at a time") {
  const double logits = tokens_of(job_of(0)) * static_cast<double>(job_of(0).model.vocab);
  const BlockMemory whole = head_memory(job_of(0));
  const BlockMemory eight = head_memory(job_of(8));
  const BlockMemory sixteen = head_memory(job_of(16));
  // All but the logits is the same in each, so the differences are those of shares of the logits.
  CHECK(whole.backward - eight.backward > 2 * logits * 7 / 8);
  CHECK((eight.backward - sixteen.backward) == doctest::Approx((whole.backward - eight.backward) / 14));
  CHECK((eight.forward - sixteen.forward) == doctest::Approx((whole.forward - eight.forward) / 14));
  CHECK((eight.kept - sixteen.kept) == doctest::Approx((whole.kept - eight.kept) / 14));
}

TEST_CASE("the peak of a rank falls by the logits") {
  const auto peak = [](int chunks) {
    return simulate(job_of(chunks, "torchtitan", 8)).result.stages.back().memory.peak.total();
  };
  CHECK(peak(8) < peak(0));
  CHECK(peak(16) <= peak(8));
}

TEST_CASE("the same FLOPs in more time: smaller products, and sums of their gradients") {
  const Products whole = products_of(job_of(0));
  const Products eight = products_of(job_of(8));
  CHECK(whole.chunks == 1);
  CHECK(eight.chunks == 8);
  CHECK(eight.flop == doctest::Approx(whole.flop));
  CHECK(eight.seconds > whole.seconds);
  // torchtitan's sums of gradients are kernels: seven of them, 10 bytes for each of the head's weights.
  Job in_product = job_of(8);
  in_product.framework.kernels.chunk_gradient_bytes = 0;
  CHECK(products_of(in_product).seconds > whole.seconds);
  CHECK(products_of(in_product).seconds < 2 * whole.seconds);
  const double weights = static_cast<double>(in_product.model.vocab * in_product.model.hidden);
  const double bandwidth = in_product.cluster.groups().front().hardware.gpu.memory_bandwidth.value;
  CHECK(eight.seconds - products_of(in_product).seconds > 0.5 * 7 * 10 * weights / bandwidth);
}

// Eight products of an eighth of two sequences, each as long as that of a job with one sequence of so many tokens.
TEST_CASE("a product in chunks takes as long as so many products of a chunk's rows") {
  const auto forward = [](const Job& job) {
    const Lowered lowered(job);
    const PartitionedBlock& head = head_of(lowered.blocks);
    double seconds = 0;
    for (const BlockStep& step : head.forward) {
      const bool product = step.kind == BlockStep::Kind::kernel && head.graph.op(step.op).kind == OperatorKind::einsum;
      if (product) seconds += lowered.plans.front().costs.kernels.price(head, step).seconds;
    }
    return seconds;
  };
  Job small = job_of(0, "torchtitan", 1);
  small.training.sequence_length /= 4;
  CHECK(forward(job_of(8)) == doctest::Approx(8 * forward(small)));
}

TEST_CASE("one chunk is the whole") {
  const Products one = products_of(job_of(1));
  const Products whole = products_of(job_of(0));
  CHECK(one.seconds == whole.seconds);
  CHECK(head_memory(job_of(1)).backward == head_memory(job_of(0)).backward);
}

// Liger: ceil(vocabulary / 1024) times as many logits as activations, rounded up to a power of two.
TEST_CASE("chunks by width have about as many logits as there are activations") {
  const Job job = job_of(0, "huggingface-liger");
  const double wider = std::ceil(static_cast<double>(job.model.vocab) / 1024);
  const double rows = std::pow(2, std::ceil(std::log2(std::ceil(tokens_of(job) / wider))));
  CHECK(products_of(job).chunks == tokens_of(job) / rows);
  CHECK(rows * static_cast<double>(job.model.vocab) < 2.1 * tokens_of(job) * 1024);
  Job plain = job;
  plain.framework.kernels.chunks_loss_by_width = false;
  CHECK(head_memory(job).backward < 0.2 * head_memory(plain).backward);
}

namespace {

// TRL: tiles of so many tokens and classes, whose backward pass multiplies by the head again.
Job tiled_job(int rows, int classes) {
  Job job = job_of(0, "huggingface-liger");
  KernelHabits& kernels = job.framework.kernels;
  kernels.chunks_loss_by_width = false;
  kernels.loss_chunk_rows = rows;
  kernels.loss_chunk_classes = classes;
  kernels.recomputes_chunks = true;
  job.framework.recompute.loss_softmax = true;
  return job;
}

std::vector<BlockStep> products_again(const PartitionedBlock& head) {
  std::vector<BlockStep> out;
  for (const BlockStep& step : head.recompute) {
    if (step.kind == BlockStep::Kind::kernel && head.graph.op(step.op).kind == OperatorKind::einsum)
      out.push_back(step);
  }
  return out;
}

}  // namespace

TEST_CASE("tiles: rows times classes of logits at a time, and none is kept") {
  const Job job = tiled_job(1024, 32 * 1024);
  const double logit = 2;
  const BlockMemory tiles = head_memory(job);
  const BlockMemory finer = head_memory(tiled_job(1024, 16 * 1024));
  CHECK(products_of(job).chunks == tokens_of(job) / 1024 * 4);
  CHECK(tiles.backward - finer.backward == doctest::Approx(logit * 1024 * 16 * 1024).epsilon(1e-6));
  CHECK(tiles.kept == finer.kept);
  CHECK(tiles.kept < 0.2 * logit * tokens_of(job) * static_cast<double>(job.model.vocab));
}

TEST_CASE("backward multiplies by the head again: 4 products in place of 3") {
  const Job job = tiled_job(1024, 32 * 1024);
  const Lowered lowered(job);
  const PartitionedBlock& head = head_of(lowered.blocks);
  const std::vector<BlockStep> again = products_again(head);
  REQUIRE(again.size() == 1);
  const KernelCost cost = lowered.plans.front().costs.kernels.price(head, again.front());
  CHECK(cost.flop == doctest::Approx(products_of(job).flop / 3));
  Job once = job;
  once.framework.kernels.recomputes_chunks = false;
  CHECK(products_again(head_of(shard_blocks(once))).empty());
}

// Under autocast, weights in fp32 are cast for each chunk of rows, forward and again backward.
TEST_CASE("chunks cast the head's weights anew") {
  Job casts = tiled_job(1024, 0);
  REQUIRE(casts.framework.kernels.casts_weights);
  const auto moved = [](const Job& job) {
    const Lowered lowered(job);
    const PartitionedBlock& head = head_of(lowered.blocks);
    double bytes = 0;
    for (const std::vector<BlockStep>* steps : {&head.forward, &head.recompute}) {
      for (const BlockStep& step : *steps) {
        if (step.kind == BlockStep::Kind::kernel) bytes += lowered.plans.front().costs.kernels.price(head, step).bytes;
      }
    }
    return bytes;
  };
  const double once = moved(casts);
  casts.framework.kernels.chunk_weight_bytes = 6;
  const double chunks = tokens_of(casts) / 1024;
  const double weights = static_cast<double>(casts.model.vocab * casts.model.hidden);
  CHECK(moved(casts) - once == doctest::Approx(6 * weights * (2 * chunks - 1)));
}

// Gradients of the head in fp32 beside those in 16 bits, and of its input; under autocast they are fp32 anyway.
TEST_CASE("sums of chunks are held while backward goes through them") {
  Job job = tiled_job(1024, 32 * 1024);
  const double inputs = tokens_of(job) * static_cast<double>(job.model.hidden);
  const double weights = static_cast<double>(job.model.vocab * job.model.hidden);
  for (const bool wide : {true, false}) {
    job.framework.kernels.casts_weights = wide;
    job.framework.memory.chunk_sum_bytes = 0;
    const double before = head_memory(job).backward;
    job.framework.memory.chunk_sum_bytes = 4;
    CHECK(head_memory(job).backward - before == doctest::Approx(4 * (inputs + (wide ? 0 : weights))));
  }
}

TEST_CASE("layers are not in chunks") {
  const ShardedBlocks blocks = shard_blocks(job_of(8));
  for (std::size_t i = 0; i + 1 < blocks.all.size(); ++i) {
    for (const Operator& op : blocks.all[i].graph.operators) CHECK_FALSE(op.in_chunks);
  }
  CHECK(std::any_of(head_of(blocks).graph.operators.begin(), head_of(blocks).graph.operators.end(),
                    [](const Operator& op) { return op.in_chunks; }));
}

}  // namespace loss_chunks_test
