#include "executor/cuda_products.hpp"

#include "base/error.hpp"

#include <cublasLt.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mirfak::measure {

namespace {

constexpr std::size_t kWorkspace = std::size_t{64} << 20U;

void check_product(cublasStatus_t result, const char* what) {
  if (result != CUBLAS_STATUS_SUCCESS) {
    fail_internal(fmt::format("cuBLASLt could not {}: {}", what, cublasLtGetStatusString(result)));
  }
}

cudaDataType data_type(Precision precision) {
  if (precision == Precision::fp16) return CUDA_R_16F;
  return precision == Precision::bf16 ? CUDA_R_16BF : CUDA_R_32F;
}

std::uint64_t extent(double value) { return static_cast<std::uint64_t>(std::max<long long>(1, std::llround(value))); }

// A matrix, column after column, of a batch of them one behind another.
class Layout {
 public:
  Layout(cudaDataType type, std::uint64_t rows, std::uint64_t columns, std::uint64_t batch) {
    check_product(cublasLtMatrixLayoutCreate(&handle_, type, rows, columns, static_cast<std::int64_t>(rows)),
                  "describe a matrix");
    const auto count = static_cast<std::int32_t>(batch);
    const auto stride = static_cast<std::int64_t>(rows * columns);
    set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, count);
    set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, stride);
  }
  Layout(const Layout&) = delete;
  Layout& operator=(const Layout&) = delete;
  ~Layout() { cublasLtMatrixLayoutDestroy(handle_); }
  cublasLtMatrixLayout_t get() const { return handle_; }

 private:
  template <typename T>
  void set(cublasLtMatrixLayoutAttribute_t attribute, const T& value) {
    check_product(cublasLtMatrixLayoutSetAttribute(handle_, attribute, &value, sizeof value), "describe a matrix");
  }
  cublasLtMatrixLayout_t handle_ = nullptr;
};

}  // namespace

// The library counts columns first, so it is asked for the transposed result: [n, m] = [n, k] x [k, m].
struct CudaProducts::Plan {
  Plan(cublasLtHandle_t handle, Precision precision, const GemmShape& shape)
      : left(data_type(precision), extent(shape.k), extent(shape.n), extent(shape.batch)),
        right(data_type(precision), extent(shape.k), extent(shape.m), extent(shape.batch)),
        result(data_type(precision), extent(shape.n), extent(shape.m), extent(shape.batch)) {
    const cublasComputeType_t compute =
        precision == Precision::tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
    check_product(cublasLtMatmulDescCreate(&operation, compute, CUDA_R_32F), "describe a product");
    const cublasOperation_t transposed = CUBLAS_OP_T;
    check_product(
        cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof transposed),
        "describe a product");
    choose(handle, shape);
  }
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;
  ~Plan() { cublasLtMatmulDescDestroy(operation); }

  void choose(cublasLtHandle_t handle, const GemmShape& shape) {
    cublasLtMatmulPreference_t preference = nullptr;
    check_product(cublasLtMatmulPreferenceCreate(&preference), "choose a kernel");
    const std::size_t workspace = kWorkspace;
    cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace,
                                         sizeof workspace);
    int found = 0;
    const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
        handle, operation, left.get(), right.get(), result.get(), result.get(), preference, 1, &choice, &found);
    cublasLtMatmulPreferenceDestroy(preference);
    if (status == CUBLAS_STATUS_SUCCESS && found > 0) return;
    fail_infeasible({}, fmt::format("cuBLASLt has no kernel for {:g} products of {:g} x {:g} x {:g}: {}", shape.batch,
                                    shape.m, shape.n, shape.k, cublasLtGetStatusString(status)));
  }

  Layout left;
  Layout right;
  Layout result;
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatmulHeuristicResult_t choice{};
};

CudaProducts::CudaProducts(Precision precision) : precision_(precision) {
  check_product(cublasLtCreate(&handle_), "start");
}

CudaProducts::~CudaProducts() {
  plans_.clear();
  cublasLtDestroy(handle_);
}

CudaProducts::Plan& CudaProducts::plan_of(const GemmShape& shape) {
  std::unique_ptr<Plan>& plan = plans_[{shape.batch, shape.m, shape.n, shape.k}];
  if (!plan) plan = std::make_unique<Plan>(handle_, precision_, shape);
  return *plan;
}

void CudaProducts::prepare(const GemmShape& shape) { plan_of(shape); }

void CudaProducts::run(const GemmShape& shape, const void* a, const void* b, void* c, cudaStream_t stream) {
  const Plan& plan = plan_of(shape);
  DeviceMemory& workspace = workspaces_[stream];
  if (workspace.bytes() == 0) workspace = DeviceMemory(kWorkspace);
  const float one = 1;
  const float zero = 0;
  check_product(
      cublasLtMatmul(handle_, plan.operation, &one, b, plan.left.get(), a, plan.right.get(), &zero, c,
                     plan.result.get(), c, plan.result.get(), &plan.choice.algo, workspace.data(), kWorkspace, stream),
      "multiply");
}

}  // namespace mirfak::measure
