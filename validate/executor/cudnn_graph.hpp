#pragma once

#include "executor/cuda_device.hpp"

#include <cudnn_graph.h>

#include <cstdint>
#include <deque>
#include <map>
#include <vector>

namespace mirfak::measure {

// Throws Error(internal) with cuDNN's words unless `result` is success.
void check_cudnn(cudnnStatus_t result, const char* what);

// Owned descriptor of cuDNN's backend.
class CudnnDescriptor {
 public:
  explicit CudnnDescriptor(cudnnBackendDescriptorType_t type);
  CudnnDescriptor(CudnnDescriptor&& other) noexcept { std::swap(handle_, other.handle_); }
  CudnnDescriptor& operator=(CudnnDescriptor&&) = delete;
  ~CudnnDescriptor();

  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t count, const void* values);
  template <typename T>
  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, const T& value) {
    set(name, type, 1, &value);
  }
  void set(cudnnBackendAttributeName_t name, const CudnnDescriptor& value) {
    set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value.handle_);
  }
  void finish();
  cudnnStatus_t try_finish() { return cudnnBackendFinalize(handle_); }
  cudnnBackendDescriptor_t get() const { return handle_; }

 private:
  cudnnBackendDescriptor_t handle_ = nullptr;
};

// A graph of cuDNN operations on tensors of four axes, built operation by operation and then run as one kernel, or a
// few.
class CudnnGraph {
 public:
  using Extents = std::vector<std::int64_t>;
  struct Tensor {
    std::int64_t id = 0;
    Extents extents;
    Extents strides;
    cudnnDataType_t type{};
    CudnnDescriptor descriptor;
  };

  // `type`: of tensors that intermediate() makes without one.
  explicit CudnnGraph(cudnnDataType_t type) : type_(type) {}

  const Tensor& tensor(cudnnDataType_t type, Extents extents, Extents strides);        // in memory, bound by run()
  const Tensor& intermediate(cudnnDataType_t type, Extents extents, Extents strides);  // never in memory
  const Tensor& scalar(float value);

  void multiply(const Tensor& a, const Tensor& b, const Tensor& result);
  const Tensor& multiply(const Tensor& a, const Tensor& b);
  void pointwise(cudnnPointwiseMode_t mode, std::vector<const Tensor*> inputs, const Tensor& result,
                 std::int64_t axis = -1);
  const Tensor& pointwise(cudnnPointwiseMode_t mode, std::vector<const Tensor*> inputs);
  // The index of each element along an axis.
  const Tensor& index(const Tensor& like, std::int64_t axis);
  // Adds up, or takes the largest, along the axes in which `result` has extent 1 or fewer.
  void reduce(cudnnReduceTensorOp_t op, const Tensor& input, const Tensor& result);
  // The same elements with the last two axes exchanged.
  const Tensor& transposed(const Tensor& input, cudnnDataType_t type);

  // Chooses a kernel. False where the library has none.
  bool build(cudnnHandle_t handle);
  std::size_t workspace_bytes() const { return workspace_bytes_; }
  // `buffers`: by id, of every tensor in memory.
  void run(cudnnHandle_t handle, const std::map<std::int64_t, void*>& buffers, void* workspace) const;

 private:
  const Tensor& add(cudnnDataType_t type, Extents extents, Extents strides, bool is_virtual, bool by_value);

  cudnnDataType_t type_;
  std::deque<Tensor> tensors_;
  std::deque<CudnnDescriptor> parts_;  // of operations: what they refer to
  std::deque<CudnnDescriptor> operations_;
  std::deque<std::pair<std::int64_t, float>> scalars_;
  std::deque<CudnnDescriptor> plan_;  // empty, or the chosen one
  std::size_t workspace_bytes_ = 0;
};

}  // namespace mirfak::measure
