// Device code of kernels that are bound by memory. What they compute is of no use to anyone; it is there so that every
// byte that is read is needed, and so that arithmetic is that of the operator's kind. One thread handles words of 16
// bytes, neighbours handle neighbouring words, and a grid covers the device a few times over.

#include "executor/cuda_memory_kernels.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

namespace mirfak::measure {

namespace {

constexpr int kThreads = 256;
constexpr unsigned kMaxBlocks = 65535;
constexpr int kBlocksPerMultiprocessor = 16;

__device__ float to_float(float x) { return x; }
__device__ float to_float(__half x) { return __half2float(x); }
__device__ float to_float(__nv_bfloat16 x) { return __bfloat162float(x); }

template <typename T>
__device__ T from_float(float x);
template <>
__device__ float from_float<float>(float x) {
  return x;
}
template <>
__device__ __half from_float<__half>(float x) {
  return __float2half(x);
}
template <>
__device__ __nv_bfloat16 from_float<__nv_bfloat16>(float x) {
  return __float2bfloat16(x);
}

// A word as the numbers that it holds.
template <typename T>
struct Numbers {
  static constexpr int kCount = 16 / sizeof(T);
  float values[kCount];

  __device__ void load(const uint4& word) {
    const T* numbers = reinterpret_cast<const T*>(&word);
#pragma unroll
    for (int i = 0; i < kCount; ++i) values[i] = to_float(numbers[i]);
  }
  __device__ void add(const uint4& word, float weight) {
    const T* numbers = reinterpret_cast<const T*>(&word);
#pragma unroll
    for (int i = 0; i < kCount; ++i) values[i] += weight * to_float(numbers[i]);
  }
  __device__ uint4 word() const {
    uint4 out;
    T* numbers = reinterpret_cast<T*>(&out);
#pragma unroll
    for (int i = 0; i < kCount; ++i) numbers[i] = from_float<T>(values[i]);
    return out;
  }
};

// Word `at` of the first operand, taken from place `first`, with that of the others.
template <typename T>
__device__ Numbers<T> gathered(const MovedOperands& operands, std::size_t at, std::size_t first) {
  Numbers<T> sum{};
  for (int i = 0; i < operands.read_count; ++i) {
    const std::size_t place = i == 0 ? first : at;
    if (place < operands.read_words[i]) sum.add(operands.reads[i][place], i == 0 ? 1.0F : 0.25F);
  }
  return sum;
}

template <typename T>
__device__ void scatter(const MovedOperands& operands, std::size_t at, const Numbers<T>& numbers) {
  const uint4 word = numbers.word();
  for (int i = 0; i < operands.write_count; ++i) {
    if (at < operands.write_words[i]) operands.writes[i][at] = word;
  }
}

__device__ std::size_t grid_threads() { return static_cast<std::size_t>(gridDim.x) * blockDim.x; }
__device__ std::size_t own_thread() { return static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; }

// Spreads the bits of a number (the finaliser of splitmix64).
__host__ __device__ std::uint64_t scrambled(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31U);
}

// Makes a kernel that only reads use its numbers: if they hold one that random numbers never are, it is written.
template <typename T>
__device__ void keep(const MovedOperands& operands, const Numbers<T>& numbers) {
  if (numbers.values[0] == 12345.678F && operands.write_count > 0) operands.writes[0][0] = numbers.word();
}

template <typename T>
__global__ void stream_kernel(MovedOperands operands) {
  for (std::size_t at = own_thread(); at < operands.largest; at += grid_threads()) {
    const Numbers<T> numbers = gathered<T>(operands, at, at);
    scatter(operands, at, numbers);
    keep(operands, numbers);
  }
}

template <typename T>
__global__ void gather_kernel(MovedOperands operands, std::size_t row_words) {
  const std::size_t rows = max(operands.read_words[0] / row_words, std::size_t{1});
  for (std::size_t at = own_thread(); at < operands.largest; at += grid_threads()) {
    const std::size_t row = at / row_words;
    const std::size_t first = scrambled(row) % rows * row_words + at % row_words;
    const Numbers<T> numbers = gathered<T>(operands, at, first);
    scatter(operands, at, numbers);
    keep(operands, numbers);
  }
}

// Returns the sum over a block of whole warps.
__device__ float block_sum(float value) {
  __shared__ float parts[kThreads / 32];
  const int warps = blockDim.x / 32;
  for (int step = 16; step > 0; step /= 2) value += __shfl_down_sync(0xffffffffU, value, step);
  __syncthreads();
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
  __syncthreads();
  float total = 0;
  for (int i = 0; i < warps; ++i) total += parts[i];
  return total;
}

// A block takes a row: statistics of it, then its results; the second reading finds the row in the cache.
template <typename T>
__global__ void row_kernel(MovedOperands operands, std::size_t row_words, RowStatistics statistics) {
  const bool softmax = statistics == RowStatistics::softmax;
  const std::size_t rows = (operands.largest + row_words - 1) / row_words;
  for (std::size_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const std::size_t begin = row * row_words;
    const std::size_t end = min(begin + row_words, operands.largest);
    float sum = 0;
    float squares = 0;
    for (std::size_t at = begin + threadIdx.x; at < end; at += blockDim.x) {
      const Numbers<T> numbers = gathered<T>(operands, at, at);
#pragma unroll
      for (int i = 0; i < Numbers<T>::kCount; ++i) {
        const float value = softmax ? __expf(numbers.values[i]) : numbers.values[i];
        sum += value;
        squares += value * value;
      }
    }
    sum = block_sum(sum);
    squares = softmax ? 0 : block_sum(squares);
    const float count = static_cast<float>((end - begin) * Numbers<T>::kCount);
    const float mean = softmax ? 0 : sum / count;
    const float scale = softmax ? 1 / sum : rsqrtf(squares / count - mean * mean + 1e-5F);
    for (std::size_t at = begin + threadIdx.x; at < end; at += blockDim.x) {
      Numbers<T> numbers = gathered<T>(operands, at, at);
#pragma unroll
      for (int i = 0; i < Numbers<T>::kCount; ++i) {
        numbers.values[i] = (softmax ? __expf(numbers.values[i]) : numbers.values[i] - mean) * scale;
      }
      scatter(operands, at, numbers);
    }
  }
}

// A random number in [-1, 1).
__host__ __device__ float random_number(std::size_t place, std::uint64_t seed) {
  const auto bits = static_cast<std::uint32_t>(scrambled(seed * 0x9e3779b97f4a7c15ULL + place) >> 40U);
  return static_cast<float>(bits) * (2.0F / (1U << 24U)) - 1.0F;
}
__host__ __device__ std::uint8_t random_e4m3(std::size_t place, std::uint64_t seed) {
  return __nv_cvt_float_to_fp8(random_number(place, seed), __NV_SATFINITE, __NV_E4M3);
}

template <typename T>
__global__ void random_kernel(T* data, std::size_t elements, std::uint64_t seed) {
  for (std::size_t at = own_thread(); at < elements; at += grid_threads()) {
    data[at] = from_float<T>(random_number(at, seed));
  }
}

__global__ void random_fp8_kernel(std::uint8_t* data, std::size_t elements, std::uint64_t seed) {
  for (std::size_t at = own_thread(); at < elements; at += grid_threads()) data[at] = random_e4m3(at, seed);
}

template <typename T>
__global__ void sum_kernel(SummedBuffers buffers, T* to, std::size_t elements, std::size_t words) {
  constexpr int kCount = Numbers<T>::kCount;
  for (std::size_t at = own_thread(); at < words; at += grid_threads()) {
    Numbers<T> sum{};
    for (int i = 0; i < buffers.count; ++i) sum.add(static_cast<const uint4*>(buffers.from[i])[at], 1.0F);
    reinterpret_cast<uint4*>(to)[at] = sum.word();
  }
  for (std::size_t at = words * kCount + own_thread(); at < elements; at += grid_threads()) {
    float sum = 0;
    for (int i = 0; i < buffers.count; ++i) sum += to_float(static_cast<const T*>(buffers.from[i])[at]);
    to[at] = from_float<T>(sum);
  }
}

__global__ void empty_kernel() {}

__global__ void delay_kernel(std::uint64_t nanoseconds) {
  std::uint64_t begin = 0;
  std::uint64_t now = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (now - begin < nanoseconds);
}

// The blocks for so many pieces, at most `most_on_each` on each multiprocessor.
unsigned blocks_for(std::size_t pieces, int most_on_each = kBlocksPerMultiprocessor) {
  static const int multiprocessors = [] {
    int device = 0;
    int count = 1;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device);
    return count;
  }();
  const std::size_t most = static_cast<std::size_t>(multiprocessors) * most_on_each;
  const std::size_t blocks = pieces < most ? pieces : most;
  return static_cast<unsigned>(blocks < 1 ? 1 : (blocks > kMaxBlocks ? kMaxBlocks : blocks));
}

unsigned blocks_of_threads(std::size_t threads) { return blocks_for((threads + kThreads - 1) / kThreads); }

// Calls `launch` with a null pointer to the type's numbers.
template <typename Launch>
void for_type(ElementType type, const Launch& launch) {
  if (type == ElementType::fp32) launch(static_cast<float*>(nullptr));
  if (type == ElementType::fp16) launch(static_cast<__half*>(nullptr));
  if (type == ElementType::bf16) launch(static_cast<__nv_bfloat16*>(nullptr));
}

bool aligned(const void* place) { return reinterpret_cast<std::uintptr_t>(place) % 16 == 0; }

}  // namespace

void launch_stream(const MovedOperands& operands, ElementType type, cudaStream_t stream) {
  for_type(type, [&](auto* numbers) {
    using T = std::remove_pointer_t<decltype(numbers)>;
    stream_kernel<T><<<blocks_of_threads(operands.largest), kThreads, 0, stream>>>(operands);
  });
}

void launch_rows(const MovedOperands& operands, std::size_t row_words, RowStatistics statistics, ElementType type,
                 cudaStream_t stream) {
  const std::size_t rows = (operands.largest + row_words - 1) / row_words;
  // No more threads than a row has words, or most of them would wait.
  const int threads = static_cast<int>(row_words < kThreads ? (row_words + 31) / 32 * 32 : std::size_t{kThreads});
  const int blocks = kBlocksPerMultiprocessor * kThreads / threads;
  for_type(type, [&](auto* numbers) {
    using T = std::remove_pointer_t<decltype(numbers)>;
    row_kernel<T><<<blocks_for(rows, blocks), threads, 0, stream>>>(operands, row_words, statistics);
  });
}

void launch_gather(const MovedOperands& operands, std::size_t row_words, ElementType type, cudaStream_t stream) {
  for_type(type, [&](auto* numbers) {
    using T = std::remove_pointer_t<decltype(numbers)>;
    gather_kernel<T><<<blocks_of_threads(operands.largest), kThreads, 0, stream>>>(operands, row_words);
  });
}

void launch_random(void* data, std::size_t elements, ElementType type, std::uint64_t seed, cudaStream_t stream) {
  for_type(type, [&](auto* numbers) {
    using T = std::remove_pointer_t<decltype(numbers)>;
    random_kernel<T><<<blocks_of_threads(elements), kThreads, 0, stream>>>(static_cast<T*>(data), elements, seed);
  });
}

void launch_random_fp8(void* data, std::size_t elements, std::uint64_t seed, cudaStream_t stream) {
  random_fp8_kernel<<<blocks_of_threads(elements), kThreads, 0, stream>>>(static_cast<std::uint8_t*>(data), elements,
                                                                          seed);
}

std::uint8_t random_fp8(std::size_t place, std::uint64_t seed) { return random_e4m3(place, seed); }

void launch_sum(const SummedBuffers& buffers, void* to, std::size_t elements, ElementType type, cudaStream_t stream) {
  bool whole = aligned(to);
  for (int i = 0; i < buffers.count; ++i) whole = whole && aligned(buffers.from[i]);
  for_type(type, [&](auto* numbers) {
    using T = std::remove_pointer_t<decltype(numbers)>;
    const std::size_t words = whole ? elements * sizeof(T) / 16 : 0;
    const std::size_t threads = whole ? words + 16 / sizeof(T) : elements;
    sum_kernel<T><<<blocks_of_threads(threads), kThreads, 0, stream>>>(buffers, static_cast<T*>(to), elements, words);
  });
}

void launch_nothing(cudaStream_t stream) { empty_kernel<<<1, 1, 0, stream>>>(); }

void launch_delay(double seconds, cudaStream_t stream) {
  delay_kernel<<<1, 1, 0, stream>>>(static_cast<std::uint64_t>(seconds * 1e9));
}

void launch_wait(double seconds, cudaStream_t stream) {
  delay_kernel<<<16, 512, 0, stream>>>(static_cast<std::uint64_t>(seconds * 1e9));
}

}  // namespace mirfak::measure
