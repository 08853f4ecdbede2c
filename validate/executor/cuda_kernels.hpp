#pragma once

#include "cluster/hardware.hpp"
#include "executor/cuda_attention.hpp"
#include "executor/cuda_device.hpp"
#include "executor/cuda_memory_kernels.hpp"
#include "executor/cuda_products.hpp"
#include "executor/gpu_settings.hpp"
#include "program/kernel_work.hpp"

#include <cstdint>

namespace mirfak::measure {

// Returns how numbers of a precision are kept. Error(input) for 8 bits and fewer, in which no kernel here computes.
ElementType element_type(Precision precision);

// Kernels on the current device, each put into a stream by run(), which does not wait for it: products by cuBLASLt,
// fused attention by cuDNN, all else by own kernels.
//
// Operands lie in two arenas as those of CpuKernels do: one that is only read, of random numbers, and one that is only
// written. Every kernel takes its operands from the next place of the arenas, which are larger than the second-level
// cache: a kernel finds its operands in memory, in a program as in a benchmark. Operands in fp8 have an arena of their
// own: other numbers, read so, may be none. For one thread.
class CudaKernels {
 public:
  // `max_room`: the most that room_for() says of any work.
  CudaKernels(const KernelPrecision& precision, double max_room, std::uint64_t seed = 1);

  // Does beforehand whatever of `work` is not its kernel: choosing one, loading it, workspace in `stream`. Runs it
  // once. Errors as in CudaProducts::prepare() and CudaAttention::prepare().
  void prepare(const KernelWork& work, cudaStream_t stream);
  void run(const KernelWork& work, cudaStream_t stream);

  // Bytes that an arena must have for the work's operands: of products and attention all operands lie beside each
  // other, of kernels that only move them none is cut.
  static double room_for(const KernelWork& work, ElementType type);

 private:
  struct Arena {
    DeviceMemory memory;
    std::size_t next = 0;
    char* take(std::size_t bytes);
  };
  const char* next_input(std::size_t bytes) { return inputs_.take(bytes); }
  char* next_output(std::size_t bytes) { return outputs_.take(bytes); }
  void multiply(const KernelWork& work, cudaStream_t stream);
  bool in_fp8(const KernelWork& work) const { return work.narrow && narrow_inputs_.memory.bytes() > 0; }
  ProductFormat format_of(const KernelWork& work) const;
  void attend(const KernelWork& work, cudaStream_t stream);
  void move(const KernelWork& work, KernelWork::Kind kind, double share, cudaStream_t stream);

  ElementType type_;
  Arena inputs_;
  Arena narrow_inputs_;  // empty unless products are in fp8
  Arena outputs_;
  CudaProducts products_;
  CudaAttention attention_;
};

}  // namespace mirfak::measure
