#pragma once

#include "cluster/hardware.hpp"
#include "cost/gemm_model.hpp"
#include "executor/cuda_device.hpp"

#include <map>
#include <memory>
#include <tuple>

struct cublasLtContext;

namespace mirfak::measure {

// The formats of a product's operands. The others' results are in the precision of the operands.
enum class ProductFormat : std::uint8_t {
  wide,          // the precision that all else has
  fp8,           // both e4m3; the result in the wide precision, of 16 bits
  fp8_gradient,  // the same, but the first operand e5m2, as frameworks keep gradients
};

// Matrix products by cuBLASLt in fp32, tf32, fp16, bf16 or fp8, sums in fp32. Both operands have the contracted axis
// innermost, as a linear layer's forward pass has: the layout that the library serves best, and the only one that Ada
// and Hopper multiply fp8 in. In fp8 each operand has one scale, in device memory, and sums are fast ones (Transformer
// Engine's use_split_accumulator=False), which only differ on Hopper.
class CudaProducts {
 public:
  // `wide`: fp32, tf32, fp16 or bf16.
  explicit CudaProducts(Precision wide);
  ~CudaProducts();
  CudaProducts(const CudaProducts&) = delete;
  CudaProducts& operator=(const CudaProducts&) = delete;

  // Asks the library for its first choice of a kernel, and makes room for its work in `stream`. Error(infeasible) where
  // it has none for the shape; in fp8 also where an extent is no multiple of 16, and on GPUs before Ada.
  void prepare(const GemmShape& shape, ProductFormat format, cudaStream_t stream);
  // batch x [m, k] x [k, n]; prepares what was not. All operands 256-byte aligned.
  void run(const GemmShape& shape, ProductFormat format, const void* a, const void* b, void* c, cudaStream_t stream);

 private:
  struct Plan;
  using Key = std::tuple<double, double, double, double, ProductFormat>;
  Plan& plan_of(const GemmShape& shape, ProductFormat format);
  const void* scales();

  Precision wide_;
  cublasLtContext* handle_ = nullptr;
  std::map<Key, std::unique_ptr<Plan>> plans_;
  // Workspaces by stream: kernels of different streams run at the same time.
  std::map<cudaStream_t, DeviceMemory> workspaces_;
  DeviceMemory scales_;  // of fp8: one number
};

}  // namespace mirfak::measure
