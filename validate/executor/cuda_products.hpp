#pragma once

#include "cluster/hardware.hpp"
#include "cost/gemm_model.hpp"
#include "executor/cuda_device.hpp"

#include <map>
#include <memory>
#include <tuple>

struct cublasLtContext;

namespace mirfak::measure {

// Matrix products by cuBLASLt in fp32, tf32, fp16 or bf16, sums in fp32. Both operands have the contracted axis
// innermost, as a linear layer's forward pass has, which the library serves best.
class CudaProducts {
 public:
  explicit CudaProducts(Precision precision);
  ~CudaProducts();
  CudaProducts(const CudaProducts&) = delete;
  CudaProducts& operator=(const CudaProducts&) = delete;

  // Asks the library for its first choice of a kernel. Error(infeasible) where it has none for the shape.
  void prepare(const GemmShape& shape);
  // batch x [m, k] x [k, n]; prepares what was not.
  void run(const GemmShape& shape, const void* a, const void* b, void* c, cudaStream_t stream);

 private:
  struct Plan;
  using Key = std::tuple<double, double, double, double>;
  Plan& plan_of(const GemmShape& shape);

  Precision precision_;
  cublasLtContext* handle_ = nullptr;
  std::map<Key, std::unique_ptr<Plan>> plans_;
  // By stream: kernels of different streams run at the same time.
  std::map<cudaStream_t, DeviceMemory> workspaces_;
};

}  // namespace mirfak::measure
