// What runs on a GPU, against plain loops on the host. Without a GPU each case says so and passes.

#include "executor/cuda_executor.hpp"
#include "executor/socket_world.hpp"
#include "scenario/scenario.hpp"

#include "base/error.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <random>

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
  products.run({1, kM, kN, kK}, a_there.data(), b_there.data(), c_there.data(), stream.get());
  const auto c = on_host<float>(c_there, kM * kN);
  for (std::size_t m = 0; m < kM; ++m) {
    for (std::size_t n = 0; n < kN; ++n) {
      float expected = 0;
      for (std::size_t k = 0; k < kK; ++k) expected += a[m * kK + k] * b[n * kK + k];
      CHECK(c[m * kN + n] == doctest::Approx(expected).epsilon(1e-4));
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
  CudaKernels kernels(Precision::bf16, 1e7);
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
    CudaKernels kernels(Precision::bf16, CudaKernels::operand_bytes(work, ElementType::bf16));
    const DeviceStream stream;
    kernels.run(work, stream.get());
    CHECK(cudaStreamSynchronize(stream.get()) == cudaSuccess);
  }
}

TEST_CASE("ranks that share a GPU run a program in its order") {
  if (!has_device()) return;
  const std::string text =
      "model: {source: test, family: gpt, layers: 4, hidden: 256, heads: 4, ffn: 1024, vocab: 1024, max_sequence: "
      "128,\n"
      "  activation: gelu, normalization: layer_norm, position: learned, linear_bias: true, tied_embeddings: true,\n"
      "  dropout: 0.1}\n"
      "cluster: {nodes: [{type: dgx-a100-80g, count: 1, gpus: 4}]}\n"
      "training: {global_batch: 8, sequence_length: 128, precision: bf16, framework: megatron-lm-2021}\n"
      "strategy: {pipeline: 2, data: 2}\n";
  const DataFolders folders{MIRFAK_SOURCE_DIR "/models", MIRFAK_SOURCE_DIR "/hw_profiles"};
  const auto simulation = lowered(parse_scenario(Document::from_text(text, "test"), folders).job, {true, true});
  const ExecutionGroups groups = execution_groups(*simulation);
  std::vector<RankPlan> plans;
  for (int rank = 0; rank < 4; ++rank) plans.push_back(rank_plan(*simulation, groups, rank));
  CudaExecutor executor(world(), groups, {}, plans, Precision::bf16, true);
  executor.iterate();
  executor.iterate();
  std::size_t first = 0;
  const std::span<const TaskTime> times = executor.times();
  const double tolerance = executor.clock_error_s() + 1e-6;
  for (const RankPlan& plan : plans) {
    for (std::size_t i = 0; i < plan.tasks.size(); ++i) {
      CHECK(times[first + i].end >= times[first + i].ready);
      for (const std::uint32_t before : plan.tasks[i].after) {
        CHECK(times[first + before].end <= times[first + i].ready + tolerance);
      }
    }
    first += plan.tasks.size();
  }
}
