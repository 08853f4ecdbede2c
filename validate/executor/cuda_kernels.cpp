#include "executor/cuda_kernels.hpp"

#include "base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

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

double largest(std::span<const double> bytes) {
  return std::accumulate(bytes.begin(), bytes.end(), 0.0, [](double a, double b) { return std::max(a, b); });
}

// Returns the kernel that quantizes a product's first operand from 16 bits.
KernelWork cast_of(const GemmShape& shape) {
  const double elements = shape.batch * shape.m * shape.k;
  return memory_work(OperatorKind::elementwise, 2 * elements, elements, shape.k);
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
      fail_input({}, fmt::format("the CUDA executor does not compute all kernels in {}", name_of(precision)),
                 "--set training.precision=bf16, or fp16, fp32");
  }
}

CudaKernels::CudaKernels(const KernelPrecision& precision, double max_room, std::uint64_t seed)
    : type_(element_type(precision.wide)), products_(precision.wide), attention_(type_) {
  // Operands begin at multiples of kAlignment, so a dozen of them leave as many gaps.
  const std::size_t bytes = std::max(kArena, static_cast<std::size_t>(max_room) + 2 * MovedOperands::kMax * kAlignment);
  inputs_.memory = DeviceMemory(bytes);
  outputs_.memory = DeviceMemory(bytes);
  launch_random(inputs_.memory.data(), bytes / element_bytes(type_), type_, seed, nullptr);
  launch_random(outputs_.memory.data(), bytes / element_bytes(type_), type_, seed + 1, nullptr);
  if (precision.narrow == Precision::fp8) {
    narrow_inputs_.memory = DeviceMemory(bytes);
    launch_random_fp8(narrow_inputs_.memory.data(), bytes, seed, nullptr);
  } else if (precision.narrow != precision.wide) {
    fail_input({}, fmt::format("the CUDA executor does not multiply in {}", name_of(precision.narrow)),
               "--set training.precision=bf16, or fp8");
  }
  check_cuda(cudaGetLastError(), "fill the operands");
  check_cuda(cudaDeviceSynchronize(), "fill the operands");
}

double CudaKernels::room_for(const KernelWork& work, ElementType type) {
  switch (work.kind) {
    case KernelWork::Kind::nothing:
      return 0;
    case KernelWork::Kind::product:
      return product_elements(work.product) * static_cast<double>(element_bytes(type));
    case KernelWork::Kind::attention:
      return AttentionOperands(work.attention, element_bytes(type)).bytes();
    default:
      return std::max(largest(work.reads), largest(work.writes));
  }
}

char* CudaKernels::Arena::take(std::size_t bytes) {
  if (bytes > memory.bytes()) fail_internal("an operand is larger than the memory that was set aside for operands");
  if (next + bytes > memory.bytes()) next = 0;
  char* out = memory.data() + next;
  next += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  return out;
}

ProductFormat CudaKernels::format_of(const KernelWork& work) const {
  if (!in_fp8(work)) return ProductFormat::wide;
  return work.gradient ? ProductFormat::fp8_gradient : ProductFormat::fp8;
}

void CudaKernels::prepare(const KernelWork& work, cudaStream_t stream) {
  if (work.kind == KernelWork::Kind::product) products_.prepare(work.product, format_of(work), stream);
  if (work.kind == KernelWork::Kind::attention) attention_.prepare(work.attention, work.backward);
  const auto most = static_cast<std::size_t>(MovedOperands::kMax);
  if (work.reads.size() > most || work.writes.size() > most) {
    fail_internal(fmt::format("a kernel has more than {} operands", most));
  }
  run(work, stream);
  check_cuda(cudaGetLastError(), "start a kernel");
}

void CudaKernels::run(const KernelWork& work, cudaStream_t stream) {
  switch (work.kind) {
    case KernelWork::Kind::nothing:
      return;
    case KernelWork::Kind::product:
      return multiply(work, stream);
    case KernelWork::Kind::attention:
      return attend(work, stream);
    default:
      break;
  }
  // The first pass computes; further passes only move the operands again.
  KernelWork::Kind kind = work.kind;
  for (double left = work.passes; left > 0; --left) {
    move(work, kind, std::min(1.0, left), stream);
    kind = KernelWork::Kind::stream;
  }
}

void CudaKernels::multiply(const KernelWork& work, cudaStream_t stream) {
  const GemmShape& shape = work.product;
  const bool fp8 = in_fp8(work);
  if (fp8 && work.quantizes) run(cast_of(shape), stream);
  Arena& inputs = fp8 ? narrow_inputs_ : inputs_;
  const std::size_t size = fp8 ? 1 : element_bytes(type_);
  const auto count = [](double elements) { return static_cast<std::size_t>(elements); };
  const char* a = inputs.take(count(shape.batch * shape.m * shape.k) * size);
  const char* b = inputs.take(count(shape.batch * shape.k * shape.n) * size);
  char* c = next_output(count(shape.batch * shape.m * shape.n) * element_bytes(type_));
  products_.run(shape, format_of(work), a, b, c, stream);
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
