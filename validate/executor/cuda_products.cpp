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

// The types of a product's operands and result, as the caller has them.
struct DataTypes {
  cudaDataType first;
  cudaDataType second;
  cudaDataType result;
};
DataTypes data_types(Precision wide, ProductFormat format) {
  const cudaDataType type = data_type(wide);
  if (format == ProductFormat::wide) return {type, type, type};
  return {format == ProductFormat::fp8 ? CUDA_R_8F_E4M3 : CUDA_R_8F_E5M2, CUDA_R_8F_E4M3, type};
}

std::string text_of(const GemmShape& shape) {
  return fmt::format("{:g} products of {:g} x {:g} x {:g}", shape.batch, shape.m, shape.n, shape.k);
}

// The rules of cuBLASLt for 8 bits: 16-byte extents, and a GPU that has such tensor cores.
void check_fp8(const GemmShape& shape, Precision wide) {
  constexpr double kMultiple = 16;
  for (const double extent : {shape.m, shape.n, shape.k}) {
    if (std::fmod(extent, kMultiple) == 0) continue;
    fail_infeasible(
        {}, fmt::format("{} in fp8: every extent must be a multiple of 16", text_of(shape)),
        "change the micro-batch, the sequence or the tensor-parallel size, or --set training.precision=bf16");
  }
  int device = 0;
  int major = 0;
  int minor = 0;
  check_cuda(cudaGetDevice(&device), "find the device");
  check_cuda(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device), "describe the device");
  check_cuda(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device), "describe the device");
  if (10 * major + minor < 89) {
    fail_infeasible(
        {},
        fmt::format("this GPU, of compute capability {}.{}, does not multiply in fp8: 8.9 and later do", major, minor),
        "--set training.precision=bf16");
  }
  if (data_type(wide) == CUDA_R_32F) {
    fail_infeasible({}, "products in fp8 have results of 16 bits", "--set training.precision=fp8");
  }
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
  // `scale`: device memory, of fp8 operands.
  Plan(cublasLtHandle_t handle, const DataTypes& types, bool tf32, const GemmShape& shape, const void* scale)
      : left(types.second, extent(shape.k), extent(shape.n), extent(shape.batch)),
        right(types.first, extent(shape.k), extent(shape.m), extent(shape.batch)),
        result(types.result, extent(shape.n), extent(shape.m), extent(shape.batch)) {
    const cublasComputeType_t compute = tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
    check_product(cublasLtMatmulDescCreate(&operation, compute, CUDA_R_32F), "describe a product");
    set(CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T);
    if (scale != nullptr) {
      set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, scale);
      set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, scale);
      set(CUBLASLT_MATMUL_DESC_FAST_ACCUM, std::int8_t{1});
    }
    choose(handle, shape);
  }
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;
  ~Plan() { cublasLtMatmulDescDestroy(operation); }

  template <typename T>
  void set(cublasLtMatmulDescAttributes_t attribute, const T& value) {
    check_product(cublasLtMatmulDescSetAttribute(operation, attribute, &value, sizeof value), "describe a product");
  }

  void choose(cublasLtHandle_t handle, const GemmShape& shape) {
    cublasLtMatmulPreference_t preference = nullptr;
    check_product(cublasLtMatmulPreferenceCreate(&preference), "choose a kernel");
    const std::size_t workspace = kWorkspace;
    const cublasStatus_t limited = cublasLtMatmulPreferenceSetAttribute(
        preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace, sizeof workspace);
    int found = 0;
    const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
        handle, operation, left.get(), right.get(), result.get(), result.get(), preference, 1, &choice, &found);
    cublasLtMatmulPreferenceDestroy(preference);
    check_product(limited, "limit its workspace");
    if (status == CUBLAS_STATUS_SUCCESS && found > 0 && choice.state == CUBLAS_STATUS_SUCCESS) return;
    fail_infeasible({},
                    fmt::format("cuBLASLt has no kernel for {}: {}", text_of(shape), cublasLtGetStatusString(status)));
  }

  Layout left;
  Layout right;
  Layout result;
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatmulHeuristicResult_t choice{};
};

CudaProducts::CudaProducts(Precision wide) : wide_(wide) { check_product(cublasLtCreate(&handle_), "start"); }

CudaProducts::~CudaProducts() {
  plans_.clear();
  cublasLtDestroy(handle_);
}

// The scale of both operands is 1: its value changes no time.
const void* CudaProducts::scales() {
  if (scales_.bytes() == 0) {
    scales_ = DeviceMemory(sizeof(float));
    const float one = 1;
    check_cuda(cudaMemcpy(scales_.data(), &one, sizeof one, cudaMemcpyHostToDevice), "copy a scale");
  }
  return scales_.data();
}

CudaProducts::Plan& CudaProducts::plan_of(const GemmShape& shape, ProductFormat format) {
  std::unique_ptr<Plan>& plan = plans_[{shape.batch, shape.m, shape.n, shape.k, format}];
  if (plan) return *plan;
  if (format != ProductFormat::wide) check_fp8(shape, wide_);
  plan = std::make_unique<Plan>(handle_, data_types(wide_, format), wide_ == Precision::tf32, shape,
                                format == ProductFormat::wide ? nullptr : scales());
  return *plan;
}

void CudaProducts::prepare(const GemmShape& shape, ProductFormat format, cudaStream_t stream) {
  plan_of(shape, format);
  DeviceMemory& workspace = workspaces_[stream];
  if (workspace.bytes() == 0) workspace = DeviceMemory(kWorkspace);
}

void CudaProducts::run(const GemmShape& shape, ProductFormat format, const void* a, const void* b, void* c,
                       cudaStream_t stream) {
  prepare(shape, format, stream);
  const Plan& plan = plan_of(shape, format);
  const float one = 1;
  const float zero = 0;
  check_product(cublasLtMatmul(handle_, plan.operation, &one, b, plan.left.get(), a, plan.right.get(), &zero, c,
                               plan.result.get(), c, plan.result.get(), &plan.choice.algo,
                               workspaces_.at(stream).data(), kWorkspace, stream),
                "multiply");
}

}  // namespace mirfak::measure
