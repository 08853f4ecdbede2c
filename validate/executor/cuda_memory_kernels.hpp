#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace mirfak::measure {

// Kernels that are bound by memory, and the small ones that communication on one device needs. Device code stands in
// cuda_memory_kernels.cu; all of it is called through these functions. They return at once, and never fail by
// themselves: cudaGetLastError() has what went wrong.

enum class ElementType : std::uint8_t { fp32, fp16, bf16 };
inline std::size_t element_bytes(ElementType type) { return type == ElementType::fp32 ? 4 : 2; }

// Operands of one kernel, in words of 16 bytes. Plain arrays: device code has no std::array.
struct MovedOperands {
  static constexpr int kMax = 12;  // of each kind; kernels with more are refused by their caller
  const uint4* reads[kMax]{};
  std::size_t read_words[kMax]{};
  uint4* writes[kMax]{};
  std::size_t write_words[kMax]{};
  int read_count = 0;
  int write_count = 0;
  std::size_t largest = 0;  // words
};

// Word i of every result is made of word i of every operand that has one.
void launch_stream(const MovedOperands& operands, ElementType type, cudaStream_t stream);
// The same by rows of `row_words` of the first operand, with statistics of each: mean and variance, or a softmax.
enum class RowStatistics : std::uint8_t { normalize, softmax };
void launch_rows(const MovedOperands& operands, std::size_t row_words, RowStatistics statistics, ElementType type,
                 cudaStream_t stream);
// The same, and the rows of the first operand are read at random places of it.
void launch_gather(const MovedOperands& operands, std::size_t row_words, ElementType type, cudaStream_t stream);

// Fills with random numbers in [-1, 1).
void launch_random(void* data, std::size_t elements, ElementType type, std::uint64_t seed, cudaStream_t stream);
// The same of numbers of 8 bits, e4m3: random_fp8() of each place.
void launch_random_fp8(void* data, std::size_t elements, std::uint64_t seed, cudaStream_t stream);
// A number that is in [-1, 1] in e4m3 and, as e5m2 reads the same bits, in [-0.5, 0.5]: neither NaN nor infinite.
std::uint8_t random_fp8(std::size_t place, std::uint64_t seed);

// to[i] = sum of from[member][i]; all of them 16-byte aligned where `elements` fills words.
struct SummedBuffers {
  static constexpr int kMax = 64;
  const void* from[kMax]{};
  int count = 0;
};
void launch_sum(const SummedBuffers& buffers, void* to, std::size_t elements, ElementType type, cudaStream_t stream);

void launch_nothing(cudaStream_t stream);
// Keeps the stream busy for so long, so that what is put behind it finds no gap that the host makes.
void launch_delay(double seconds, cudaStream_t stream);
// Lets as many threads look at a clock for so long as NCCL has waiting for others: 16 blocks of 512.
void launch_wait(double seconds, cudaStream_t stream);

}  // namespace mirfak::measure
