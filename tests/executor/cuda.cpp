// Kernels and programs on a GPU, against plain loops on the host. Without a GPU each case says so and passes.

#include "executor/cuda_executor.hpp"
#include "processes/socket_world.hpp"
#include "scenario/scenario.hpp"
#include "simulation/iteration.hpp"

#include "base/error.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <random>

namespace cuda_test {

using namespace mirfak;
using namespace mirfak::measure;

namespace {

bool has_device() {
  try {
    choose_device(0);
    return true;
  } catch (const Error& error) {
    MESSAGE("skipped: no device: " << std::string(error.what()));
    return false;
  }
}

std::vector<float> random_numbers(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> number(-1, 1);
  std::vector<float> out(count);
  for (float& value : out) value = number(random);
  return out;
}

template <typename T>
DeviceMemory on_device(const std::vector<T>& values) {
  DeviceMemory out(values.size() * sizeof(T));
  check_cuda(cudaMemcpy(out.data(), values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice), "copy");
  return out;
}

template <typename T>
std::vector<T> on_host(const DeviceMemory& memory, std::size_t count) {
  std::vector<T> out(count);
  check_cuda(cudaDeviceSynchronize(), "end");
  check_cuda(cudaMemcpy(out.data(), memory.data(), count * sizeof(T), cudaMemcpyDeviceToHost), "copy");
  return out;
}

// bf16 is the upper half of a float.
std::uint16_t narrowed(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return static_cast<std::uint16_t>((bits + 0x8000U) >> 16U);
}
float widened(std::uint16_t value) {
  const std::uint32_t bits = static_cast<std::uint32_t>(value) << 16U;
  float out = 0;
  std::memcpy(&out, &bits, sizeof out);
  return out;
}

// e4m3: a sign, 4 bits of exponent, 3 of mantissa; e5m2: the upper half of fp16.
float decoded(std::uint8_t bits, int mantissa_bits) {
  const int exponent_bits = 7 - mantissa_bits;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = (bits & 0x7F) >> mantissa_bits;
  const float mantissa = static_cast<float>(bits & ((1 << mantissa_bits) - 1)) / static_cast<float>(1 << mantissa_bits);
  const float size = exponent == 0 ? std::ldexp(mantissa, 1 - bias) : std::ldexp(1 + mantissa, exponent - bias);
  return (bits & 0x80) != 0 ? -size : size;
}

bool multiplies_fp8() {
  int major = 0;
  int minor = 0;
  check_cuda(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0), "describe");
  check_cuda(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, 0), "describe");
  return 10 * major + minor >= 89;
}

// The world of this process alone.
World& world() {
  static SocketWorld out(JobLaunch{}, {});
  return out;
}

}  // namespace

TEST_CASE("products: both operands with the contracted axis innermost") {
  if (!has_device()) return;
  constexpr std::size_t kM = 24;
  constexpr std::size_t kN = 40;
  constexpr std::size_t kK = 16;
  const std::vector<float> a = random_numbers(kM * kK, 1);
  const std::vector<float> b = random_numbers(kN * kK, 2);
  const DeviceMemory a_there = on_device(a);
  const DeviceMemory b_there = on_device(b);
  const DeviceMemory c_there(kM * kN * sizeof(float));
  CudaProducts products(Precision::fp32);
  const DeviceStream stream;
  products.run({1, kM, kN, kK}, ProductFormat::wide, a_there.data(), b_there.data(), c_there.data(), stream.get());
  const auto c = on_host<float>(c_there, kM * kN);
  for (std::size_t m = 0; m < kM; ++m) {
    for (std::size_t n = 0; n < kN; ++n) {
      float expected = 0;
      for (std::size_t k = 0; k < kK; ++k) expected += a[m * kK + k] * b[n * kK + k];
      CHECK(c[m * kN + n] == doctest::Approx(expected).epsilon(1e-4));
    }
  }
}

TEST_CASE("random numbers of 8 bits are numbers, whichever format reads them") {
  int negative = 0;
  std::vector<int> seen(256, 0);
  for (std::size_t place = 0; place < 100000; ++place) {
    const std::uint8_t bits = random_fp8(place, 3);
    ++seen[bits];
    negative += (bits & 0x80) != 0 ? 1 : 0;
    CHECK_FALSE((bits & 0x7F) == 0x7F);  // e4m3: not a number
    CHECK_FALSE((bits & 0x7C) == 0x7C);  // e5m2: infinite, or not a number
    CHECK(std::abs(decoded(bits, 3)) <= 1);
    CHECK(std::abs(decoded(bits, 2)) <= 0.5F);
  }
  CHECK(negative > 45000);
  CHECK(negative < 55000);
  CHECK(std::count_if(seen.begin(), seen.end(), [](int times) { return times > 0; }) > 80);
  CHECK(random_fp8(5, 3) == random_fp8(5, 3));
}

TEST_CASE("products in fp8, of a gradient too, have results in bf16") {
  if (!has_device()) return;
  constexpr std::size_t kM = 32;
  constexpr std::size_t kN = 48;
  constexpr std::size_t kK = 64;
  CudaProducts products(Precision::bf16);
  const DeviceStream stream;
  std::vector<std::uint8_t> a(kM * kK);
  std::vector<std::uint8_t> b(kN * kK);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = random_fp8(i, 1);
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = random_fp8(i, 2);
  const DeviceMemory a_there = on_device(a);
  const DeviceMemory b_there = on_device(b);
  const DeviceMemory c_there(kM * kN * 2);
  for (const ProductFormat format : {ProductFormat::fp8, ProductFormat::fp8_gradient}) {
    const auto run = [&](const GemmShape& shape) {
      products.run(shape, format, a_there.data(), b_there.data(), c_there.data(), stream.get());
    };
    CHECK_THROWS_AS(run({1, kM, kN, 24}), Error);
    if (!multiplies_fp8()) {
      CHECK_THROWS_WITH_AS(run({1, kM, kN, kK}), doctest::Contains("does not multiply in fp8"), Error);
      continue;
    }
    run({1, kM, kN, kK});
    const auto c = on_host<std::uint16_t>(c_there, kM * kN);
    for (std::size_t m = 0; m < kM; ++m) {
      for (std::size_t n = 0; n < kN; ++n) {
        float expected = 0;
        for (std::size_t k = 0; k < kK; ++k) {
          expected += decoded(a[m * kK + k], format == ProductFormat::fp8 ? 3 : 2) * decoded(b[n * kK + k], 3);
        }
        CHECK(std::abs(widened(c[m * kN + n]) - expected) < 0.02F * (1 + std::abs(expected)));
      }
    }
  }
}

TEST_CASE("sums of buffers, whole words and what is left over") {
  if (!has_device()) return;
  constexpr std::size_t kCount = 1003;
  const std::vector<float> a = random_numbers(kCount, 1);
  const std::vector<float> b = random_numbers(kCount, 2);
  const DeviceMemory a_there = on_device(a);
  const DeviceMemory b_there = on_device(b);
  const DeviceMemory sum_there(kCount * sizeof(float));
  SummedBuffers buffers;
  buffers.from[0] = a_there.data();
  buffers.from[1] = b_there.data();
  buffers.count = 2;
  launch_sum(buffers, sum_there.data(), kCount, ElementType::fp32, nullptr);
  const auto sum = on_host<float>(sum_there, kCount);
  for (std::size_t i = 0; i < kCount; ++i) CHECK(sum[i] == doctest::Approx(a[i] + b[i]));
}

TEST_CASE("kernels bound by memory end without a fault") {
  if (!has_device()) return;
  CudaKernels kernels({Precision::bf16, Precision::bf16}, 1e7);
  const DeviceStream stream;
  for (const OperatorKind kind : {OperatorKind::elementwise, OperatorKind::normalization, OperatorKind::softmax,
                                  OperatorKind::reduction, OperatorKind::gather}) {
    for (const double bytes : {16.0, 1000.0, 1e6}) kernels.run(memory_work(kind, bytes, bytes, 512), stream.get());
  }
  CHECK(cudaStreamSynchronize(stream.get()) == cudaSuccess);
  CHECK(cudaGetLastError() == cudaSuccess);
}

TEST_CASE("fused attention is softmax(Q K^T / sqrt(d)) V, each token seeing those before it") {
  if (!has_device()) return;
  constexpr std::size_t kTokens = 128;
  constexpr std::size_t kHeads = 2;
  constexpr std::size_t kWidth = 64;
  constexpr std::size_t kCount = kTokens * kHeads * kWidth;
  std::vector<std::vector<std::uint16_t>> operands;
  for (const unsigned seed : {1U, 2U, 3U}) {
    std::vector<std::uint16_t>& own = operands.emplace_back();
    for (const float value : random_numbers(kCount, seed)) own.push_back(narrowed(value));
  }
  const DeviceMemory query = on_device(operands[0]);
  const DeviceMemory key = on_device(operands[1]);
  const DeviceMemory value = on_device(operands[2]);
  const DeviceMemory result(kCount * 2);
  AttentionShape shape;
  shape.queries = shape.keys = kTokens;
  shape.heads = shape.kv_heads = kHeads;
  shape.head_dim = kWidth;
  shape.causal = true;
  CudaAttention attention(ElementType::bf16);
  const DeviceStream stream;
  attention.run(shape, false, {query.data(), key.data(), value.data(), result.data()}, stream.get());
  const auto context = on_host<std::uint16_t>(result, kCount);
  const auto at = [&](std::size_t operand, std::size_t token, std::size_t head, std::size_t i) {
    return widened(operands[operand][(token * kHeads + head) * kWidth + i]);
  };
  for (std::size_t token = 0; token < kTokens; token += 17) {
    std::vector<float> weights(token + 1);
    float sum = 0;
    for (std::size_t other = 0; other <= token; ++other) {
      float score = 0;
      for (std::size_t i = 0; i < kWidth; ++i) score += at(0, token, 1, i) * at(1, other, 1, i);
      weights[other] = std::exp(score / 8);
      sum += weights[other];
    }
    for (std::size_t i = 0; i < kWidth; i += 9) {
      float expected = 0;
      for (std::size_t other = 0; other <= token; ++other) expected += weights[other] / sum * at(2, other, 1, i);
      CHECK(std::abs(widened(context[(token * kHeads + 1) * kWidth + i]) - expected) < 0.02);
    }
  }
}

TEST_CASE("attention backward, of grouped queries too, ends without a fault") {
  if (!has_device()) return;
  for (const double kv_heads : {4.0, 2.0}) {
    KernelWork work;
    work.kind = KernelWork::Kind::attention;
    work.attention.batch = 2;
    work.attention.queries = work.attention.keys = 256;
    work.attention.heads = 4;
    work.attention.kv_heads = kv_heads;
    work.attention.head_dim = 64;
    work.attention.causal = true;
    work.backward = true;
    CudaKernels kernels({Precision::bf16, Precision::bf16}, CudaKernels::room_for(work, ElementType::bf16));
    const DeviceStream stream;
    kernels.run(work, stream.get());
    CHECK(cudaStreamSynchronize(stream.get()) == cudaSuccess);
  }
}

namespace {

// A program of two stages and two replicas on one GPU.
struct SharedProgram {
  static Job job() {
    const std::string text =
        "model: {source: test, family: gpt, layers: 4, hidden: 256, heads: 4, ffn: 1024, vocab: 1024, max_sequence: "
        "128,\n"
        "  activation: gelu, normalization: layer_norm, position: learned, linear_bias: true, tied_embeddings: true,\n"
        "  dropout: 0.1}\n"
        "cluster: {nodes: [{type: dgx-a100-80g, count: 1, gpus: 4}]}\n"
        "training: {global_batch: 8, sequence_length: 128, precision: bf16, framework: megatron-lm-2021}\n"
        "strategy: {pipeline: 2, data: 2}\n";
    const DataFolders folders{source_root() + "/models", source_root() + "/hw_profiles"};
    return parse_scenario(Document::from_text(text, "test"), folders).job;
  }
  SharedProgram() {
    for (int rank = 0; rank < 4; ++rank) plans.push_back(rank_plan(simulation.program, groups, rank));
  }

  Simulation simulation = lowered(job(), {true, true});
  ExecutionGroups groups = execution_groups(simulation.program);
  std::vector<RankPlan> plans;
};

GpuSettings shared_settings(bool graphs) { return {{Precision::bf16, Precision::bf16}, true, graphs}; }

// Nothing begins before what it waits for has ended, or what stands before it in its queue.
void check_order(const std::vector<RankPlan>& plans, std::span<const TaskTime> times, double tolerance) {
  std::size_t first = 0;
  for (const RankPlan& plan : plans) {
    for (std::size_t i = 0; i < plan.tasks.size(); ++i) {
      CHECK(times[first + i].end >= times[first + i].ready);
      for (const std::uint32_t before : plan.tasks[i].after) {
        CHECK(times[first + before].end <= times[first + i].ready + tolerance);
      }
    }
    for (const RankQueue& queue : plan.queues) {
      for (std::size_t i = 1; i < queue.tasks.size(); ++i) {
        CHECK(times[first + queue.tasks[i - 1]].end <= times[first + queue.tasks[i]].ready + tolerance);
      }
    }
    first += plan.tasks.size();
  }
  CHECK(first == times.size());
}

}  // namespace

TEST_CASE("ranks that share a GPU run a program in its order, in streams and as a graph") {
  if (!has_device()) return;
  const SharedProgram program;
  for (const bool graphs : {false, true}) {
    CudaExecutor executor(world(), program.groups, {}, program.plans, shared_settings(graphs));
    CHECK(executor.backend() == (graphs ? "cuda, loopback, graph" : "cuda, loopback"));
    double last = 0;
    for (int i = 0; i < 3; ++i) {
      executor.iterate();
      check_order(program.plans, executor.times(), executor.clock_error_s() + 1e-6);
      // Events are passed anew in every iteration.
      for (const TaskTime& time : executor.times()) CHECK(time.end > last);
      for (const TaskTime& time : executor.times()) last = std::max(last, time.end);
    }
  }
}

TEST_CASE("an iteration without marks does the same work in less time") {
  if (!has_device()) return;
  const SharedProgram program;
  for (const bool graphs : {false, true}) {
    CAPTURE(graphs);
    CudaExecutor executor(world(), program.groups, {}, program.plans, shared_settings(graphs));
    REQUIRE(executor.marks_take_time());
    double marked = 1e9;
    double bare = 1e9;
    double last = 0;
    // Takes turns with and without marks: events that one leaves recorded are not those that the other waits for.
    for (int i = 0; i < 8; ++i) {
      const TaskTime span = executor.iterate_unmarked();
      CHECK(span.ready > last);
      CHECK(span.end > span.ready);
      bare = std::min(bare, span.end - span.ready);
      executor.iterate();
      check_order(program.plans, executor.times(), executor.clock_error_s() + 1e-6);
      const TaskTime of_tasks = span_of(executor.times());
      CHECK(of_tasks.ready > span.end - 2 * executor.clock_error_s());
      marked = std::min(marked, of_tasks.end - of_tasks.ready);
      last = of_tasks.end;
    }
    if (graphs) CHECK(bare < marked);
    MESSAGE("without marks " << bare * 1e6 << " us, with " << marked * 1e6 << " us");
  }
}

TEST_CASE("a capture that fails leaves its streams as they were") {
  if (!has_device()) return;
  const std::vector<DeviceStream> streams(2);
  {
    const CudaCapture capture(streams);
    launch_nothing(streams[1].get());
    // Waiting for a stream that is captured is what CUDA refuses, and so is the rest of the capture.
    CHECK(cudaStreamSynchronize(streams[1].get()) != cudaSuccess);
  }
  for (const DeviceStream& stream : streams) {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusActive;
    CHECK(cudaStreamIsCapturing(stream.get(), &status) == cudaSuccess);
    CHECK(status == cudaStreamCaptureStatusNone);
    launch_nothing(stream.get());
    CHECK(cudaStreamSynchronize(stream.get()) == cudaSuccess);
  }
}

TEST_CASE("a graph does its work at every launch, and passes the events in it") {
  if (!has_device()) return;
  constexpr std::size_t kCount = 1000;
  const DeviceMemory ones = on_device(std::vector<float>(kCount, 1));
  const DeviceMemory sum = on_device(std::vector<float>(kCount, 0));
  const std::vector<DeviceStream> streams(2);
  const DeviceEvent begun;
  const DeviceEvent ended;
  const DeviceEvent order(DeviceEvent::Time::none);
  SummedBuffers buffers;
  buffers.from[0] = ones.data();
  buffers.from[1] = sum.data();
  buffers.count = 2;
  launch_sum(buffers, sum.data(), kCount, ElementType::fp32, streams[0].get());  // loaded: see CudaCapture
  check_cuda(cudaDeviceSynchronize(), "end");
  CudaCapture capture(streams);
  begun.record_in_graph(streams[1].get());
  launch_sum(buffers, sum.data(), kCount, ElementType::fp32, streams[1].get());
  ended.record_in_graph(streams[1].get());
  order.record(streams[1].get());
  order.hold(streams[0].get());
  launch_sum(buffers, sum.data(), kCount, ElementType::fp32, streams[0].get());
  const CudaGraph graph = capture.finish();
  for (int launches = 1; launches <= 3; ++launches) {
    graph.launch(streams[0].get());
    const auto values = on_host<float>(sum, kCount);
    CHECK(values[kCount - 1] == static_cast<float>(1 + 2 * launches));
    CHECK(ended.done());
    CHECK(ended.seconds_since(begun) >= 0);
  }
}

}  // namespace cuda_test
