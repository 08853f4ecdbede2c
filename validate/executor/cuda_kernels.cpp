#include "executor/cuda_kernels.hpp"

#include "base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace mirfak::measure {

namespace {

constexpr std::size_t kArena = std::size_t{512} << 20U;  // several times the second-level cache of any GPU
constexpr std::size_t kAlignment = 256;
constexpr std::size_t kWord = 16;

std::size_t words(double bytes) {
  return std::max<std::size_t>(1, static_cast<std::size_t>(std::ceil(bytes / static_cast<double>(kWord))));
}

double product_elements(const GemmShape& shape) {
  return shape.batch * (shape.m * shape.k + shape.k * shape.n + shape.m * shape.n);
}

}  // namespace

ElementType element_type(Precision precision) {
  switch (precision) {
    case Precision::fp32:
    case Precision::tf32:
      return ElementType::fp32;
    case Precision::fp16:
      return ElementType::fp16;
    case Precision::bf16:
      return ElementType::bf16;
    default:
      fail_input({}, fmt::format("the CUDA executor does not compute in {}", name_of(precision)),
                 "--set training.precision=bf16, or fp16, fp32");
  }
}

CudaKernels::CudaKernels(Precision precision, double most_bytes, std::uint64_t seed)
    : type_(element_type(precision)),
      inputs_(std::max(kArena, 2 * static_cast<std::size_t>(most_bytes) + kAlignment)),
      outputs_(inputs_.bytes()),
      products_(precision),
      attention_(type_) {
  launch_random(inputs_.data(), inputs_.bytes() / element_bytes(type_), type_, seed, nullptr);
  launch_random(outputs_.data(), outputs_.bytes() / element_bytes(type_), type_, seed + 1, nullptr);
  check_cuda(cudaDeviceSynchronize(), "fill the operands");
}

double CudaKernels::operand_bytes(const KernelWork& work, ElementType type) {
  switch (work.kind) {
    case KernelWork::Kind::nothing:
      return 0;
    case KernelWork::Kind::product:
      return product_elements(work.product) * static_cast<double>(element_bytes(type));
    case KernelWork::Kind::attention:
      return AttentionOperands(work.attention, element_bytes(type)).bytes();
    default:
      return std::accumulate(work.reads.begin(), work.reads.end(), 0.0) +
             std::accumulate(work.writes.begin(), work.writes.end(), 0.0);
  }
}

char* CudaKernels::next(DeviceMemory& arena, std::size_t& place, std::size_t bytes) {
  if (place + bytes > arena.bytes()) place = 0;
  char* out = arena.data() + place;
  place += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  return out;
}

void CudaKernels::prepare(const KernelWork& work) {
  if (work.kind == KernelWork::Kind::product) products_.prepare(work.product);
  if (work.kind == KernelWork::Kind::attention) attention_.prepare(work.attention, work.backward);
  const auto most = static_cast<std::size_t>(MovedOperands::kMost);
  if (work.reads.size() > most || work.writes.size() > most) {
    fail_internal(fmt::format("a kernel has more than {} operands", most));
  }
}

void CudaKernels::run(const KernelWork& work, cudaStream_t stream) {
  switch (work.kind) {
    case KernelWork::Kind::nothing:
      return;
    case KernelWork::Kind::product:
      return multiply(work.product, stream);
    case KernelWork::Kind::attention:
      return attend(work, stream);
    default:
      break;
  }
  // What is computed, is computed once; further passes move its operands again.
  KernelWork::Kind kind = work.kind;
  for (double left = work.passes; left > 0; --left) {
    move(work, kind, std::min(1.0, left), stream);
    kind = KernelWork::Kind::stream;
  }
}

void CudaKernels::multiply(const GemmShape& shape, cudaStream_t stream) {
  const auto bytes = [&](double elements) { return static_cast<std::size_t>(elements) * element_bytes(type_); };
  const char* a = next_input(bytes(shape.batch * shape.m * shape.k));
  const char* b = next_input(bytes(shape.batch * shape.k * shape.n));
  products_.run(shape, a, b, next_output(bytes(shape.batch * shape.m * shape.n)), stream);
}

void CudaKernels::attend(const KernelWork& work, cudaStream_t stream) {
  const AttentionOperands operands(work.attention, element_bytes(type_));
  AttentionBuffers buffers;
  buffers.query = next_input(operands.query);
  buffers.key = next_input(operands.key);
  buffers.value = next_input(operands.value);
  buffers.result = work.backward ? const_cast<char*>(next_input(operands.result)) : next_output(operands.result);
  if (work.backward) {
    buffers.result_gradient = next_input(operands.result);
    buffers.query_gradient = next_output(operands.query);
    buffers.key_gradient = next_output(operands.key);
    buffers.value_gradient = next_output(operands.value);
  }
  attention_.run(work.attention, work.backward, buffers, stream);
}

void CudaKernels::move(const KernelWork& work, KernelWork::Kind kind, double share, cudaStream_t stream) {
  MovedOperands operands;
  for (const double bytes : work.reads) {
    const std::size_t count = words(bytes * share);
    operands.read_words[operands.read_count] = count;
    operands.reads[operands.read_count++] = reinterpret_cast<const uint4*>(next_input(count * kWord));
    operands.largest = std::max(operands.largest, count);
  }
  for (const double bytes : work.writes) {
    const std::size_t count = words(bytes * share);
    operands.write_words[operands.write_count] = count;
    operands.writes[operands.write_count++] = reinterpret_cast<uint4*>(next_output(count * kWord));
    operands.largest = std::max(operands.largest, count);
  }
  const std::size_t row = words(work.row_bytes);
  if (operands.read_count == 0 || kind == KernelWork::Kind::stream) {
    launch_stream(operands, type_, stream);
  } else if (kind == KernelWork::Kind::gather) {
    launch_gather(operands, row, type_, stream);
  } else {
    const bool softmax = kind == KernelWork::Kind::softmax;
    launch_rows(operands, row, softmax ? RowStatistics::softmax : RowStatistics::normalize, type_, stream);
  }
}

}  // namespace mirfak::measure
