#pragma once

#include "cluster/hardware.hpp"
#include "executor/cuda_attention.hpp"
#include "executor/cuda_device.hpp"
#include "executor/cuda_memory_kernels.hpp"
#include "executor/cuda_products.hpp"
#include "executor/kernel_work.hpp"

#include <cstdint>

namespace mirfak::measure {

// How numbers of a precision are kept. Error(input) for those that kernels here do not compute in: 8 bits and fewer.
ElementType element_type(Precision precision);

// Kernels on the current device, each put into a stream by run(), which does not wait for it: products by cuBLASLt,
// fused attention by cuDNN, all else by own kernels.
//
// Operands lie in two arenas as those of CpuKernels do: one that is only read, of random numbers, and one that is only
// written. Every kernel takes its operands from the next place of the arenas, which are larger than the second-level
// cache: a kernel finds its operands in memory, in a program as in a benchmark. For one thread.
class CudaKernels {
 public:
  // `most_bytes`: of all operands of one kernel together.
  CudaKernels(Precision precision, double most_bytes, std::uint64_t seed = 1);

  // Does beforehand whatever of `work` is not its kernel: choosing one, workspace. Errors as in CudaProducts::prepare()
  // and CudaAttention::prepare().
  void prepare(const KernelWork& work);
  void run(const KernelWork& work, cudaStream_t stream);

  // All operands together.
  static double operand_bytes(const KernelWork& work, ElementType type);

 private:
  char* next(DeviceMemory& arena, std::size_t& place, std::size_t bytes);
  const char* next_input(std::size_t bytes) { return next(inputs_, next_input_, bytes); }
  char* next_output(std::size_t bytes) { return next(outputs_, next_output_, bytes); }
  void multiply(const GemmShape& shape, cudaStream_t stream);
  void attend(const KernelWork& work, cudaStream_t stream);
  void move(const KernelWork& work, KernelWork::Kind kind, double share, cudaStream_t stream);

  ElementType type_;
  DeviceMemory inputs_;
  DeviceMemory outputs_;
  std::size_t next_input_ = 0;
  std::size_t next_output_ = 0;
  CudaProducts products_;
  CudaAttention attention_;
};

}  // namespace mirfak::measure
