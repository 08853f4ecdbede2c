#include "cost/kernel_model.hpp"

#include "base/error.hpp"
#include "gpu_fixture.hpp"
#include "graph/backward.hpp"
#include "model/blocks.hpp"
#include "support/transformers.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>

using namespace mirfak;
using namespace mirfak::test;

namespace {

ModelSpec model() {
  ModelSpec spec;
  spec.layers = 1;
  spec.hidden = 256;
  spec.heads = spec.kv_heads = 4;
  spec.head_dim = 64;
  spec.ffn = 1024;
  spec.vocab = 1000;
  spec.max_sequence = 1000;
  return with_blocks(std::move(spec));
}

PartitionedBlock layer(bool fused_attention) {
  BlockOptions options;
  options.batch = 2;
  options.sequence = 1000;
  options.kv_heads = 4;
  options.vocabulary = 1000;
  options.fusion = usual_fusion();
  options.fused_attention = fused_attention;
  return partition(with_backward(build_layer_block(model(), options), {}), {}, {}, {});
}

const BlockStep& step_named(const PartitionedBlock& block, const std::vector<BlockStep>& steps,
                            const std::string& name) {
  const auto found =
      std::find_if(steps.begin(), steps.end(), [&](const BlockStep& s) { return block.graph.op(s.op).name == name; });
  REQUIRE(found != steps.end());
  return *found;
}

}  // namespace

TEST_CASE("a GEMM: overhead and the norm of compute and memory time") {
  const GpuSpec spec = test_gpu();
  const KernelModel kernels(spec, Precision::bf16);
  // 2 x 4096 x 1280 x 2000 = 20.97 GFLOP / 80 TFLOP/s = 262.144 us (160 tiles of 256 x 128 on 100 multiprocessors,
  // whose tails cost nothing here); 98.304 MB / 0.5 TB/s = 196.608 us; sqrt(262.144^2 + 196.608^2) = 327.68.
  const KernelCost cost = kernels.price_gemm({1, 4096, 1280, 2000}, 98.304e6);
  CHECK(cost.seconds == doctest::Approx(332.68e-6).epsilon(1e-12));
  CHECK(cost.flop == 20.97152e9);
}

TEST_CASE("a lower clock stretches products and attention, and spares energy; memory keeps its pace") {
  const GpuSpec spec = test_gpu();
  const KernelModel full(spec, Precision::bf16);
  KernelModel slower(spec, Precision::bf16);
  slower.set_clock_share(0.8);
  const PartitionedBlock block = layer(true);
  int clocked = 0;
  for (const BlockStep& step : block.forward) {
    const KernelCost fast = full.price(block, step);
    const KernelCost slow = slower.price(block, step);
    CHECK(slow.seconds == doctest::Approx(fast.seconds + fast.clocked_s * (1 / 0.8 - 1)).epsilon(1e-9));
    CHECK(slow.clocked_s == fast.clocked_s);
    if (fast.clocked_s == 0) continue;
    ++clocked;
    CHECK(energy_above_waiting_j(slower, slow) < energy_above_waiting_j(full, fast));
  }
  CHECK(clocked == 5);  // four linear layers and attention
}

TEST_CASE("a clock set below the settled one scales draw by the GPU's power of the clock, one above changes nothing") {
  const GpuSpec spec = test_gpu();
  KernelModel settled(spec, Precision::bf16);
  settled.set_clock_share(0.9);
  KernelModel above(spec, Precision::bf16);
  above.set_clock_share(0.9, 0.95);
  KernelModel below(spec, Precision::bf16);
  below.set_clock_share(0.9, 0.6);
  CHECK(below.clock_share() == 0.6);
  const KernelCost stream = settled.price_memory_bound(1e9);
  const double blocked_j = spec.blocked_w.value * stream.seconds;
  const double settled_j = energy_above_waiting_j(settled, stream) + blocked_j;
  CHECK(energy_above_waiting_j(above, stream) + blocked_j == settled_j);
  const double ratio = spec.clock_power.draw(0.6) / spec.clock_power.draw(0.9);
  CHECK(ratio < 0.75);
  CHECK(energy_above_waiting_j(below, stream) + blocked_j == doctest::Approx(ratio * settled_j));
}

TEST_CASE("shapes and FLOPs of a layer's products") {
  const GpuSpec spec = test_gpu();
  const KernelModel kernels(spec, Precision::bf16);
  const PartitionedBlock block = layer(false);
  const GemmShape up = gemm_shape(block.graph, step_named(block, block.forward, "mlp.up.up_weight"));
  CHECK(up.batch == 1);
  CHECK(up.m == 2000);
  CHECK(up.n == 1024);
  CHECK(up.k == 256);
  const GemmShape scores = gemm_shape(block.graph, step_named(block, block.forward, "attention.context.scores"));
  CHECK(scores.batch == 2 * 4);
  CHECK(scores.m == 1000);
  CHECK(scores.n == 1000);
  CHECK(scores.k == 64);

  // 24 b s h^2 + 4 b s^2 h forward, twice that backward (arXiv 2104.04473, appendix).
  const auto flop = [&](const std::vector<BlockStep>& steps) {
    double sum = 0;
    for (const BlockStep& step : steps) sum += kernels.price(block, step).flop;
    return sum;
  };
  const double b = 2, s = 1000, h = 256;
  const double forward = 24 * b * s * h * h + 4 * b * s * s * h;
  CHECK(flop(block.forward) == doctest::Approx(forward).epsilon(1e-12));
  CHECK(flop(block.backward) == doctest::Approx(2 * forward).epsilon(1e-12));
}

TEST_CASE("fused attention counts all pairs and executes half of them when causal") {
  const GpuSpec spec = test_gpu();
  const KernelModel kernels(spec, Precision::bf16);
  const PartitionedBlock block = layer(true);
  const KernelCost forward = kernels.price(block, step_named(block, block.forward, "attention.context"));
  CHECK(forward.flop == 4.0 * 2 * 1000 * 1000 * 256);  // two products of 2 b s^2 h
  // 8 heads in 8 tiles of 128 queries, of 2, 4, ... 16 blocks of 64 keys: 72 x 8 blocks at 0.5 of 100 TFLOP/s.
  const double executed = 4.0 * 8 * 72 * 128 * 64 * 64;
  CHECK(forward.compute_s == doctest::Approx(executed / 50e12).epsilon(1e-12));
  const KernelCost backward = kernels.price(block, step_named(block, block.backward, "d_attention.context"));
  CHECK(backward.flop == 2.5 * forward.flop);  // scores again, dV, dP, dQ, dK
  CHECK(backward.compute_s == doctest::Approx(2.5 * executed / 40e12).epsilon(1e-12));
}

TEST_CASE("attention is computed in 16 bits whatever the precision of matrix products") {
  GpuSpec spec = test_gpu();
  spec.peak_flops[Precision::fp8] = figure(200e12);
  const PartitionedBlock block = layer(true);
  const BlockStep& step = step_named(block, block.forward, "attention.context");
  CHECK(KernelModel(spec, Precision::fp8).price(block, step).seconds ==
        KernelModel(spec, Precision::bf16).price(block, step).seconds);
}

TEST_CASE("memory-bound kernels: a launch, then bytes over the bandwidth of their kind") {
  const GpuSpec spec = test_gpu();
  const KernelModel kernels(spec, Precision::bf16);
  CHECK(kernels.price_memory_bound(0).seconds == 2e-6);
  CHECK(kernels.price_memory_bound(8e9).seconds == doctest::Approx(2e-6 + 10e-3));
  CHECK(kernels.price_memory_bound(8e9, OperatorKind::normalization).memory_s == doctest::Approx(20e-3));
  CHECK(kernels.price_memory_bound(8e9, OperatorKind::gather).memory_s == doctest::Approx(40e-3));
}

TEST_CASE("what the second-level cache holds moves faster, and more bytes never take less time") {
  const GpuSpec spec = test_gpu();  // 10 MB, 4 times the bandwidth of memory
  const KernelModel kernels(spec, Precision::bf16);
  CHECK(kernels.price_memory_bound(1e6).memory_s == doctest::Approx(1e6 / 0.8e12 / 4).epsilon(1e-5));
  CHECK(kernels.price_memory_bound(1e9).memory_s == doctest::Approx(1e9 / 0.8e12).epsilon(1e-5));
  double before = 0;
  for (double bytes = 1e5; bytes < 1e9; bytes *= 1.1) {
    CHECK(kernels.price_memory_bound(bytes).seconds > before);
    before = kernels.price_memory_bound(bytes).seconds;
  }
}

TEST_CASE("an embedding reads the rows it needs, not the table") {
  const GpuSpec spec = test_gpu();
  const KernelModel kernels(spec, Precision::bf16);
  BlockOptions options;
  options.batch = 1;
  options.sequence = 10;
  options.kv_heads = 4;
  options.vocabulary = 1000;
  const PartitionedBlock block = partition(with_backward(build_embedding_block(model(), options), {}), {}, {}, {});
  const KernelCost cost = kernels.price(block, step_named(block, block.forward, "words"));
  CHECK(cost.bytes == 10 * 8.0 + 2 * 10 * 256 * 2.0);  // ids, rows read, rows written
}

TEST_CASE("a precision the GPU lacks is refused by name") {
  const GpuSpec spec = test_gpu();
  CHECK_THROWS_WITH_AS(KernelModel(spec, Precision::fp8), doctest::Contains("test GPU cannot compute in fp8"), Error);
}

TEST_CASE("copies around attention: bytes by tensor, launches by kernel, more sequences than an entry asks for") {
  const GpuSpec spec = test_gpu();
  const PartitionedBlock block = layer(true);
  const BlockStep& forward = step_named(block, block.forward, "attention.context");
  const BlockStep& backward = step_named(block, block.backward, "d_attention.context");
  KernelSurroundings around;
  around.copies = {{{"flash-2"}, "", 2, {.queries = 2, .keys = 1, .kernels = 4}, {.keys = 0.5, .kernels = 1}},
                   {{"flash-2"}, "", 3, {.queries = 100, .kernels = 1}, {}}};
  const double queries =
      2.0 * 1000 * 256 * 2;  // two sequences of 1000 tokens, hidden 256, in 16 bits; keys are two such
  const SurroundingTraffic of_forward = surrounding_traffic(around, block.graph, forward);
  CHECK(of_forward.copies == 2 * (2 * queries + 2 * queries));
  CHECK(of_forward.kernels == 4);
  CHECK(of_forward.filled == 0);
  CHECK(surrounding_traffic(around, block.graph, backward).copies == 2 * 0.5 * 2 * queries);
  CHECK(surrounding_traffic(around, block.graph, step_named(block, block.forward, "mlp.out")).copies == 0);

  KernelModel kernels(spec, Precision::bf16);
  const KernelCost alone = kernels.price(block, forward);
  kernels.set_surroundings(std::make_shared<const KernelSurroundings>(around));
  const KernelCost with = kernels.price(block, forward);
  CHECK(with.bytes - alone.bytes == of_forward.copies);
  CHECK(with.seconds - alone.seconds ==
        doctest::Approx(4 * kernels.price_memory_bound(of_forward.copies / 4).seconds).epsilon(1e-9));
  CHECK(with.clocked_s == alone.clocked_s);
  CHECK(kernels.explain(block, forward).numbers.find("copies and fills") != std::string::npos);
}

TEST_CASE("gathered keys: what a rank gathers, and what both halves of its queries see; pieces of a ring") {
  const PartitionedBlock block = layer(true);
  BlockStep step = step_named(block, block.forward, "attention.context");
  KernelSurroundings around;
  around.context_ranks = 2;
  around.gathers_keys = true;
  const double gathered = 2 * 2.0 * 1000 * 256 * 2;  // keys and values
  around.copies = {{{"flash-2"}, "all-gather", 1, {.gathered = 1, .kernels = 1}, {}}};
  CHECK(surrounding_traffic(around, block.graph, step).copies == 2 * gathered);
  around.copies.front().forward = {.seen = 1, .kernels = 1};
  // Rank 0 sees the first and the last of four quarters, rank 1 the second and the third.
  CHECK(surrounding_traffic(around, block.graph, step).copies == 2 * gathered * 5 / 4);
  around.copies.front().forward = {.keys = 1, .kernels = 1};
  CHECK(surrounding_traffic(around, block.graph, step).copies == 2 * gathered / 2);

  around.gathers_keys = false;
  around.copies.front().forward = {.keys = 1, .later_keys = 0.25, .kernels = 1};
  CHECK(surrounding_traffic(around, block.graph, step).copies == 2 * gathered);
  step.piece = 1;
  CHECK(surrounding_traffic(around, block.graph, step).copies == 2 * gathered / 4);
}

TEST_CASE("filled results: products of linear layers, norms, attention and copies write once more") {
  const GpuSpec spec = test_gpu();
  const PartitionedBlock block = layer(true);
  KernelSurroundings around;
  const auto filled = [&](const char* name) {
    return surrounding_traffic(around, block.graph, step_named(block, block.forward, name)).filled;
  };
  const double hidden = 2.0 * 1000 * 256 * 2;
  CHECK(filled("mlp.out") == 0);
  around.fills_linear = true;
  CHECK(filled("mlp.out") == hidden);
  CHECK(filled("attention.context") == 0);
  around.fills_attention = true;
  const double statistics = 2.0 * 1000 * 4 * 4;  // a logarithm in fp32 for each query and head
  CHECK(filled("attention.context") == hidden + statistics);
  around.copies = {{{"flash-2"}, "", 1, {.queries = 1, .kernels = 1}, {}}};
  around.fills_copies = true;
  CHECK(filled("attention.context") == 2 * hidden + statistics);

  // Backward in a fixed order: three gradients, sums in fp32 for each part.
  around.copies.clear();
  around.ordered_attention = true;
  const BlockStep& backward = step_named(block, block.backward, "d_attention.context");
  KernelModel ordered(spec, Precision::bf16);
  ordered.set_surroundings(std::make_shared<const KernelSurroundings>(around));
  around.fills_attention = false;
  KernelModel unfilled(spec, Precision::bf16);
  unfilled.set_surroundings(std::make_shared<const KernelSurroundings>(around));
  const double parts = std::ceil(spec.multiprocessors / (2.0 * 4));
  CHECK(ordered.price(block, backward).bytes - unfilled.price(block, backward).bytes ==
        doctest::Approx(3 * hidden + parts * 2 * hidden).epsilon(1e-12));
}

TEST_CASE("every explanation gives its constants with their sources") {
  const GpuSpec spec = test_gpu();
  const KernelModel kernels(spec, Precision::bf16);
  for (const bool fused : {false, true}) {
    const PartitionedBlock block = layer(fused);
    for (const auto* steps : {&block.forward, &block.backward}) {
      for (const BlockStep& step : *steps) {
        const Explanation why = kernels.explain(block, step);
        CHECK_FALSE(why.formula.empty());
        CHECK(why.inputs.size() >= 3);
        for (const Explanation::Input& input : why.inputs) {
          CHECK((input.source == "test" || input.name == "clock share"));
        }
      }
    }
  }
}
