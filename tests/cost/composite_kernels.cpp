#include "cost/composite_kernels.hpp"

#include "gpu_fixture.hpp"
#include "support/graph_writer.hpp"

#include <doctest/doctest.h>

using namespace mirfak;
using namespace mirfak::test;

namespace {

PartitionedBlock divided(OperatorGraph graph, int tensor) {
  const std::vector<AxisRule> rules = {{Parallelism::tensor, MeshAxis::tensor, AxisRule::On::parameters},
                                       {Parallelism::tensor, MeshAxis::tensor, AxisRule::On::inputs}};
  const DeviceMesh mesh = {{"data", 1}, {"expert", 1}, {"context", 1}, {"tensor", tensor}};
  return partition(with_backward(std::move(graph), {}), mesh, rules, {});
}

}  // namespace

TEST_CASE("a custom operator takes as long as its bytes or its FLOPs, and divides as its labels do") {
  const GpuSpec spec = test_gpu();
  const KernelModel kernels(spec, Precision::bf16);
  for (const int tensor : {1, 4}) {
    GraphWriter w;
    const Axis s = w.axis("s", 1024), h = w.axis("h", 64, Parallelism::tensor);
    const TensorId x = w.stream("x", {s, h});
    // Forward 80 GB at 0.8 TB/s: 100 ms. Backward 100 TFLOP at 100 TFLOP/s: 1 s.
    w.graph.outputs = {w.activation("y", {s, h})};
    w.op("kernel", OperatorKind::custom, {x}, w.graph.outputs).custom = {1e9, 80e9, 100e12, 1e9};
    const PartitionedBlock block = divided(std::move(w.graph), tensor);
    REQUIRE(block.forward.size() == 1);
    REQUIRE(block.backward.size() == 1);
    const KernelCost forward = kernels.price(block, block.forward[0]);
    CHECK(forward.seconds == doctest::Approx(2e-6 + 0.1 / tensor).epsilon(1e-9));
    CHECK(forward.flop == 1e9 / tensor);
    const KernelCost backward = kernels.price(block, block.backward[0]);
    CHECK(backward.seconds == doctest::Approx(2e-6 + 1.0 / tensor).epsilon(1e-9));
    CHECK(backward.flop == 100e12 / tensor);
  }
}

TEST_CASE("plain kernels: each its launch and the longer of bytes and cycles, some for each expert") {
  GpuSpec spec = test_gpu();
  spec.clock_peak_hz = figure(1e9);  // ten multiprocessors: 1e10 cycles a second
  const double experts = 4;
  GraphWriter w;
  const Axis e = w.axis("e", 4, Parallelism::experts), s = w.axis("s", 1 << 20), h = w.axis("h", 64);
  const TensorId x = w.stream("x", {e, s, h});
  w.graph.outputs = {w.activation("y", {e, s, h})};
  Operator& op = w.op("kernel", OperatorKind::elementwise, {x}, w.graph.outputs);
  op.saved = {x};
  op.kernels = {{.bytes = 8}, {.bytes = 4, .cycles = 1, .per_expert = true}};  // 10 and 5 ps of bytes, 100 of cycles
  op.gradient_kernels = {{.bytes = 16, .cycles = 0.1}};                        // 20 ps of bytes, 10 of cycles
  const PartitionedBlock block = divided(std::move(w.graph), 1);
  KernelModel kernels(spec, Precision::bf16);
  const double elements = experts * (1 << 20) * 64;
  const KernelCost forward = kernels.price(block, block.forward.front());
  CHECK(forward.seconds == doctest::Approx((1 + experts) * 2e-6 + elements * (10 + 100) * 1e-12).epsilon(1e-6));
  CHECK(forward.bytes == 12 * elements);
  CHECK(forward.activity == Activity::memory_bound);
  CHECK(launches_of_plain_kernels(block.graph, block.forward.front()) == 1 + experts);
  const KernelCost backward = kernels.price(block, block.backward.front());
  CHECK(backward.seconds == doctest::Approx(2e-6 + elements * 20e-12).epsilon(1e-6));
  // A lower clock stretches what instructions bound.
  kernels.set_clock_share(0.5);
  CHECK(kernels.price(block, block.forward.front()).seconds - forward.seconds ==
        doctest::Approx(elements * 100e-12).epsilon(1e-6));
  CHECK(kernels.price(block, block.backward.front()).seconds == doctest::Approx(backward.seconds));
}

// y[b s c] = x[b s+p-3 c] w[p c]: 2 multiplications and additions per tap, but two bytes in and out per element.
TEST_CASE("a depthwise convolution is bound by memory, one over channels is a product") {
  const GpuSpec spec = test_gpu();
  const KernelModel kernels(spec, Precision::bf16);
  const auto convolution = [&](bool depthwise) {
    GraphWriter w;
    const Axis b = w.axis("b", 8), s = w.axis("s", 2048), c = w.axis("c", 4096), p = w.axis("p", 4);
    const Axis o = depthwise ? c : w.axis("o", 4096);
    const TensorId x = w.stream("x", {b, s, c});
    const TensorId weight = w.parameter("w", depthwise ? AxisLabels{p, c} : AxisLabels{p, c, o});
    w.graph.outputs = {w.activation("y", {b, s, o})};
    Operator& op = w.op("convolution", OperatorKind::einsum, {x, weight}, w.graph.outputs);
    op.inputs[0].windows = {{1, s, p, 1, 1, -3}};
    return divided(std::move(w.graph), 1);
  };
  const double elements = 8.0 * 2048 * 4096;
  const PartitionedBlock depthwise = convolution(true);
  const PartitionedBlock dense = convolution(false);
  for (const auto* steps : {&depthwise.forward, &depthwise.backward}) {
    for (const BlockStep& step : *steps) {
      if (depthwise.graph.op(step.op).kind != OperatorKind::einsum) continue;
      const KernelCost cost = kernels.price(depthwise, step);
      CHECK(cost.activity == Activity::memory_bound);
      CHECK(cost.flop == 2 * elements * 4);
      CHECK(cost.bytes == 2 * (2 * elements + 4 * 4096));
    }
  }
  const KernelCost product = kernels.price(dense, dense.forward.front());
  CHECK(product.activity == Activity::gemm);
  CHECK(product.flop == 2 * elements * 4 * 4096);
}

TEST_CASE("a scan is the sum of its kernels") {
  const GpuSpec spec = test_gpu();
  const KernelModel kernels(spec, Precision::bf16);
  const auto scan = [&](int tensor) {
    GraphWriter w;
    const Axis b = w.axis("b", 2), s = w.axis("s", 2048), h = w.axis("h", 80, Parallelism::tensor);
    const Axis p = w.axis("p", 64), n = w.axis("n", 128);
    const std::vector<TensorId> operands = {w.stream("x", {b, s, h, p}), w.stream("step", {b, s, h}),
                                            w.stream("in", {b, s, n}), w.stream("out", {b, s, n})};
    w.graph.outputs = {w.activation("y", {b, s, h, p})};
    Operator& op = w.op("scan", OperatorKind::scan, operands, w.graph.outputs);
    op.over = {s, n};
    op.chunk = 256;
    op.saved = operands;
    return divided(std::move(w.graph), tensor);
  };
  const PartitionedBlock whole = scan(1);
  const KernelCost forward = kernels.price(whole, whole.forward.front());
  CHECK(forward.flop == 2.0 * 2 * 2048 * (256 * 128 + 80 * 256 * 64 + 2 * 80 * 128 * 64));
  CHECK(forward.seconds > forward.flop / 100e12);
  const KernelCost backward = kernels.price(whole, whole.backward.front());
  CHECK(backward.flop > 2 * forward.flop);
  CHECK(backward.seconds > 2 * forward.seconds);
  // Heads divided: no less than half of the time, which the scores of the one group do not share.
  const PartitionedBlock half = scan(2);
  const KernelCost divided_cost = kernels.price(half, half.forward.front());
  CHECK(divided_cost.flop > forward.flop / 2);
  CHECK(divided_cost.seconds > forward.seconds / 2);
  CHECK(divided_cost.seconds < forward.seconds);
}
