#include "executor/cudnn_graph.hpp"

#include "base/error.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace mirfak::measure {

namespace {

constexpr std::int64_t kAlignment = 16;
constexpr std::int64_t kChoices = 8;  // kernels to try, the best first

CudnnGraph::Extents packed(const CudnnGraph::Extents& extents) {
  CudnnGraph::Extents out(extents.size(), 1);
  for (std::size_t i = extents.size() - 1; i > 0; --i) out[i - 1] = out[i] * extents[i];
  return out;
}

}  // namespace

void check_cudnn(cudnnStatus_t result, const char* what) {
  if (result != CUDNN_STATUS_SUCCESS) {
    fail_internal(fmt::format("cuDNN could not {}: {}", what, cudnnGetErrorString(result)));
  }
}

CudnnDescriptor::CudnnDescriptor(cudnnBackendDescriptorType_t type) {
  check_cudnn(cudnnBackendCreateDescriptor(type, &handle_), "make a descriptor");
}

CudnnDescriptor::~CudnnDescriptor() {
  if (handle_ != nullptr) cudnnBackendDestroyDescriptor(handle_);
}

void CudnnDescriptor::set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t count,
                          const void* values) {
  const cudnnStatus_t status = cudnnBackendSetAttribute(handle_, name, type, count, values);
  if (status != CUDNN_STATUS_SUCCESS) {
    fail_internal(
        fmt::format("cuDNN could not take attribute {}: {}", static_cast<int>(name), cudnnGetErrorString(status)));
  }
}

void CudnnDescriptor::finish() { check_cudnn(try_finish(), "complete a descriptor"); }

const CudnnGraph::Tensor& CudnnGraph::add(cudnnDataType_t type, Extents extents, Extents strides, bool is_virtual,
                                          bool by_value) {
  const auto id = static_cast<std::int64_t>(tensors_.size()) + 1;
  Tensor& out = tensors_.emplace_back(
      Tensor{id, std::move(extents), std::move(strides), type, CudnnDescriptor(CUDNN_BACKEND_TENSOR_DESCRIPTOR)});
  CudnnDescriptor& descriptor = out.descriptor;
  const auto axes = static_cast<std::int64_t>(out.extents.size());
  descriptor.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, id);
  descriptor.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, type);
  descriptor.set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, axes, out.extents.data());
  descriptor.set(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, axes, out.strides.data());
  descriptor.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, kAlignment);
  descriptor.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, is_virtual);
  descriptor.set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, by_value);
  descriptor.finish();
  return out;
}

const CudnnGraph::Tensor& CudnnGraph::tensor(cudnnDataType_t type, Extents extents, Extents strides) {
  return add(type, std::move(extents), std::move(strides), false, false);
}

const CudnnGraph::Tensor& CudnnGraph::intermediate(cudnnDataType_t type, Extents extents, Extents strides) {
  return add(type, std::move(extents), std::move(strides), true, false);
}

const CudnnGraph::Tensor& CudnnGraph::scalar(float value) {
  const Tensor& out = add(CUDNN_DATA_FLOAT, {1, 1, 1, 1}, {1, 1, 1, 1}, false, true);
  scalars_.emplace_back(out.id, value);
  return out;
}

void CudnnGraph::multiply(const Tensor& a, const Tensor& b, const Tensor& result) {
  CudnnDescriptor& product = parts_.emplace_back(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
  product.set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
  product.finish();
  CudnnDescriptor& operation = operations_.emplace_back(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_MATMUL_ADESC, a.descriptor);
  operation.set(CUDNN_ATTR_OPERATION_MATMUL_BDESC, b.descriptor);
  operation.set(CUDNN_ATTR_OPERATION_MATMUL_CDESC, result.descriptor);
  operation.set(CUDNN_ATTR_OPERATION_MATMUL_DESC, product);
  operation.finish();
}

const CudnnGraph::Tensor& CudnnGraph::multiply(const Tensor& a, const Tensor& b) {
  const Extents extents = {a.extents[0], a.extents[1], a.extents[2], b.extents[3]};
  const Tensor& result = intermediate(type_, extents, packed(extents));
  multiply(a, b, result);
  return result;
}

void CudnnGraph::pointwise(cudnnPointwiseMode_t mode, std::vector<const Tensor*> inputs, const Tensor& result,
                           std::int64_t axis) {
  CudnnDescriptor& function = parts_.emplace_back(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  function.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, mode);
  const bool compares = mode == CUDNN_POINTWISE_CMP_GE;
  const cudnnDataType_t computes = compares ? CUDNN_DATA_BOOLEAN : CUDNN_DATA_FLOAT;
  function.set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, computes);
  if (axis >= 0) function.set(CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, axis);
  function.finish();
  CudnnDescriptor& operation = operations_.emplace_back(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, function);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, inputs[0]->descriptor);
  if (inputs.size() > 1) operation.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, inputs[1]->descriptor);
  if (inputs.size() > 2) operation.set(CUDNN_ATTR_OPERATION_POINTWISE_TDESC, inputs[2]->descriptor);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, result.descriptor);
  operation.finish();
}

const CudnnGraph::Tensor& CudnnGraph::pointwise(cudnnPointwiseMode_t mode, std::vector<const Tensor*> inputs) {
  const bool compares = mode == CUDNN_POINTWISE_CMP_GE;
  const Tensor& result =
      intermediate(compares ? CUDNN_DATA_BOOLEAN : type_, inputs[0]->extents, packed(inputs[0]->extents));
  pointwise(mode, std::move(inputs), result);
  return result;
}

const CudnnGraph::Tensor& CudnnGraph::index(const Tensor& like, std::int64_t axis) {
  const Tensor& result = intermediate(CUDNN_DATA_INT32, like.extents, packed(like.extents));
  pointwise(CUDNN_POINTWISE_GEN_INDEX, {&like}, result, axis);
  return result;
}

void CudnnGraph::reduce(cudnnReduceTensorOp_t op, const Tensor& input, const Tensor& result) {
  CudnnDescriptor& function = parts_.emplace_back(CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
  function.set(CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, op);
  function.set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
  function.finish();
  CudnnDescriptor& operation = operations_.emplace_back(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, input.descriptor);
  operation.set(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, result.descriptor);
  operation.set(CUDNN_ATTR_OPERATION_REDUCTION_DESC, function);
  operation.finish();
}

const CudnnGraph::Tensor& CudnnGraph::transposed(const Tensor& input, cudnnDataType_t type) {
  Extents extents = input.extents;
  Extents strides = input.strides;
  std::swap(extents[2], extents[3]);
  std::swap(strides[2], strides[3]);
  const Tensor& result = intermediate(type, std::move(extents), std::move(strides));
  CudnnDescriptor& operation = operations_.emplace_back(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_RESHAPE_XDESC, input.descriptor);
  operation.set(CUDNN_ATTR_OPERATION_RESHAPE_YDESC, result.descriptor);
  operation.finish();
  return result;
}

bool CudnnGraph::build(cudnnHandle_t handle) {
  std::vector<cudnnBackendDescriptor_t> operations;
  for (const CudnnDescriptor& operation : operations_) operations.push_back(operation.get());
  CudnnDescriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, static_cast<std::int64_t>(operations.size()),
            operations.data());
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, handle);
  if (graph.try_finish() != CUDNN_STATUS_SUCCESS) return false;

  CudnnDescriptor heuristic(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristic.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  heuristic.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, CUDNN_HEUR_MODE_A);
  if (heuristic.try_finish() != CUDNN_STATUS_SUCCESS) return false;
  std::deque<CudnnDescriptor> choices;
  std::vector<cudnnBackendDescriptor_t> handles;
  for (std::int64_t i = 0; i < kChoices; ++i) {
    handles.push_back(choices.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR).get());
  }
  std::int64_t found = 0;
  if (cudnnBackendGetAttribute(heuristic.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, kChoices,
                               &found, handles.data()) != CUDNN_STATUS_SUCCESS) {
    return false;
  }
  for (std::int64_t i = 0; i < std::min(found, kChoices); ++i) {
    CudnnDescriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, handle);
    plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, choices[static_cast<std::size_t>(i)]);
    if (plan.try_finish() != CUDNN_STATUS_SUCCESS) continue;
    std::int64_t bytes = 0;
    std::int64_t count = 0;
    check_cudnn(cudnnBackendGetAttribute(plan.get(), CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1,
                                         &count, &bytes),
                "say what workspace it needs");
    workspace_bytes_ = static_cast<std::size_t>(std::max<std::int64_t>(bytes, 0));
    plan_.push_back(std::move(plan));
    return true;
  }
  return false;
}

void CudnnGraph::run(cudnnHandle_t handle, const std::map<std::int64_t, void*>& buffers, void* workspace) const {
  std::vector<std::int64_t> ids;
  std::vector<void*> pointers;
  for (const auto& [id, pointer] : buffers) {
    ids.push_back(id);
    pointers.push_back(pointer);
  }
  for (const auto& [id, value] : scalars_) {
    ids.push_back(id);
    pointers.push_back(const_cast<float*>(&value));  // the interface has no constant pointers
  }
  const auto count = static_cast<std::int64_t>(ids.size());
  CudnnDescriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, count, ids.data());
  pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, count,
           static_cast<const void*>(pointers.data()));
  pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, workspace);
  pack.finish();
  check_cudnn(cudnnBackendExecute(handle, plan_.front().get(), pack.get()), "attend");
}

}  // namespace mirfak::measure
