#pragma once

#include "cost/attention_model.hpp"
#include "executor/cuda_device.hpp"
#include "executor/cuda_memory_kernels.hpp"

#include <map>
#include <memory>
#include <tuple>

namespace mirfak::measure {

// Bytes of the tensors of a call.
struct AttentionOperands {
  AttentionOperands(const AttentionShape& shape, std::size_t element_bytes);
  double bytes() const;  // all that a backward pass holds

  std::size_t query = 0;
  std::size_t key = 0;
  std::size_t value = 0;
  std::size_t result = 0;
};

struct AttentionBuffers {
  const void* query = nullptr;
  const void* key = nullptr;
  const void* value = nullptr;
  void* result = nullptr;  // backward: read
  const void* result_gradient = nullptr;
  void* query_gradient = nullptr;
  void* key_gradient = nullptr;
  void* value_gradient = nullptr;
};

// Fused attention of training by cuDNN, in 16 bits: scores, causal mask, softmax and context in one kernel, row
// statistics kept for the backward pass. Built without cuDNN it refuses everything.
class CudaAttention {
 public:
  explicit CudaAttention(ElementType type);
  ~CudaAttention();
  CudaAttention(const CudaAttention&) = delete;
  CudaAttention& operator=(const CudaAttention&) = delete;

  // Builds the kernel. Error(infeasible) where there is none: in fp32, for windows, and for shapes that cuDNN refuses.
  void prepare(const AttentionShape& shape, bool backward);
  void run(const AttentionShape& shape, bool backward, const AttentionBuffers& buffers, cudaStream_t stream);

 private:
  struct Handle;
  struct Plan;
  using Key = std::tuple<double, double, double, double, double, double, double, bool, bool>;
  Plan& plan_of(const AttentionShape& shape, bool backward);

  ElementType type_;
  std::unique_ptr<Handle> handle_;
  std::map<Key, std::unique_ptr<Plan>> plans_;
  std::map<cudaStream_t, DeviceMemory> workspaces_;
};

}  // namespace mirfak::measure
