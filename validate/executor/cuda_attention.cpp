// Fused attention as a graph of cuDNN's operations, which the library matches to one kernel forward and a few backward.
// The graph must have the shape that it knows. Forward: scores = Q K^T * scale; where a key is later than its query,
// minus infinity; softmax by its steps (row maximum, exponential, row sum, quotient); context = probabilities V; and
// statistics = maximum + log(sum) of each row. Backward, as in FlashAttention-2 (Dao, arXiv 2307.08691, algorithm 2):
// probabilities again from the statistics, D = row sums of dO * O, dV = P^T dO, dS = P * (dO V^T - D) * scale,
// dK = dS^T Q, dQ = dS K, where dQ is added up in 32 bits.

#include "executor/cuda_attention.hpp"

#include "base/error.hpp"

#include <fmt/format.h>

#include <cmath>
#ifdef MIRFAK_HAS_CUDNN
#include "executor/cudnn_graph.hpp"
#endif

namespace mirfak::measure {

namespace {

double value_dim(const AttentionShape& shape) { return shape.value_dim > 0 ? shape.value_dim : shape.head_dim; }
double kv_heads(const AttentionShape& shape) { return shape.kv_heads > 0 ? shape.kv_heads : shape.heads; }

[[noreturn]] void refuse(const AttentionShape& shape, bool backward, const std::string& why) {
  fail_infeasible(
      {},
      fmt::format("no fused attention {} of {:g} x {:g} tokens, {:g} and {:g} heads of {:g}, batch {:g}: {}",
                  backward ? "backward" : "forward", shape.queries, shape.keys, shape.heads, kv_heads(shape),
                  shape.head_dim, shape.batch, why),
      "use a framework whose attention is not fused, as --set training.framework=megatron-lm-2021");
}

}  // namespace

AttentionOperands::AttentionOperands(const AttentionShape& shape, std::size_t element_bytes) {
  const auto bytes = [&](double elements) { return static_cast<std::size_t>(std::ceil(elements)) * element_bytes; };
  query = bytes(shape.batch * shape.heads * shape.queries * shape.head_dim);
  key = bytes(shape.batch * kv_heads(shape) * shape.keys * shape.head_dim);
  value = bytes(shape.batch * kv_heads(shape) * shape.keys * value_dim(shape));
  result = bytes(shape.batch * shape.heads * shape.queries * value_dim(shape));
}

double AttentionOperands::bytes() const { return 2 * static_cast<double>(query + key + value + result); }

#ifdef MIRFAK_HAS_CUDNN

struct CudaAttention::Handle {
  Handle() { check_cudnn(cudnnCreate(&handle), "start"); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() { cudnnDestroy(handle); }
  cudnnHandle_t handle = nullptr;
};

struct CudaAttention::Plan {
  using Extents = CudnnGraph::Extents;
  using Tensor = CudnnGraph::Tensor;

  // `wide`: what the last product of the backward pass reads is described in 32 bits.
  Plan(const AttentionShape& of, bool is_backward, ElementType type, bool wide)
      : shape(of),
        data(type == ElementType::fp16 ? CUDNN_DATA_HALF : CUDNN_DATA_BFLOAT16),
        steps(wide ? CUDNN_DATA_FLOAT : data),
        batch(std::llround(of.batch)),
        heads(std::llround(of.heads)),
        groups(std::llround(kv_heads(of))),
        queries(std::llround(of.queries)),
        keys(std::llround(of.keys)),
        width(std::llround(of.head_dim)),
        value_width(std::llround(value_dim(of))),
        graph(CUDNN_DATA_FLOAT) {
    if (is_backward) {
      describe_backward();
    } else {
      describe_forward();
    }
  }

  // Tokens of a sample lie behind one another, each with all its heads, as linear layers leave them.
  const Tensor& tokens(std::int64_t count, std::int64_t of_heads, std::int64_t of_width) {
    return graph.tensor(data, {batch, of_heads, count, of_width},
                        {count * of_heads * of_width, of_width, of_heads * of_width, 1});
  }
  // The same with its last two axes exchanged, as the second operand of a product with rows of tokens.
  const Tensor& tokens_across(std::int64_t count, std::int64_t of_width) {
    return graph.tensor(data, {batch, groups, of_width, count},
                        {count * groups * of_width, of_width, 1, groups * of_width});
  }
  Extents row_extents() const { return {batch, heads, queries, 1}; }
  Extents row_strides() const { return {heads * queries, queries, 1, 1}; }
  const Tensor& row_intermediate() { return graph.intermediate(CUDNN_DATA_FLOAT, row_extents(), row_strides()); }
  const Tensor& rows() { return graph.tensor(CUDNN_DATA_FLOAT, row_extents(), row_strides()); }

  const Tensor& scaled_scores(const Tensor& query, const Tensor& key) {
    const Tensor& scores = graph.multiply(query, key);
    scale = &graph.scalar(static_cast<float>(1 / std::sqrt(shape.head_dim)));
    return graph.pointwise(CUDNN_POINTWISE_MUL, {&scores, scale});
  }
  const Tensor& masked(const Tensor& scores) {
    if (!shape.causal) return scores;
    const Tensor& row = graph.index(scores, 2);
    const Tensor& column = graph.index(scores, 3);
    const Tensor& seen = graph.pointwise(CUDNN_POINTWISE_CMP_GE, {&row, &column});
    const Tensor& never = graph.scalar(-1e9F);
    return graph.pointwise(CUDNN_POINTWISE_BINARY_SELECT, {&scores, &never, &seen});
  }

  void describe_forward() {
    const Tensor& query = tokens(queries, heads, width);
    const Tensor& key = tokens_across(keys, width);
    const Tensor& value = tokens(keys, groups, value_width);
    const Tensor& result = tokens(queries, heads, value_width);
    const Tensor& statistics = rows();
    const Tensor& scores = masked(scaled_scores(query, key));
    const Tensor& most = row_intermediate();
    graph.reduce(CUDNN_REDUCE_TENSOR_MAX, scores, most);
    const Tensor& below = graph.pointwise(CUDNN_POINTWISE_SUB, {&scores, &most});
    const Tensor& exponential = graph.pointwise(CUDNN_POINTWISE_EXP, {&below});
    const Tensor& sum = row_intermediate();
    graph.reduce(CUDNN_REDUCE_TENSOR_ADD, exponential, sum);
    const Tensor& log = graph.pointwise(CUDNN_POINTWISE_LOG, {&sum});
    graph.pointwise(CUDNN_POINTWISE_ADD, {&most, &log}, statistics);
    const Tensor& probabilities = graph.intermediate(data, exponential.extents, exponential.strides);
    graph.pointwise(CUDNN_POINTWISE_DIV, {&exponential, &sum}, probabilities);
    graph.multiply(probabilities, value, result);
    bindings = {
        {query.id, &AttentionBuffers::query}, {key.id, &AttentionBuffers::key}, {value.id, &AttentionBuffers::value}};
    results = {{result.id, &AttentionBuffers::result}};
    scratch.emplace_back(statistics.id, row_bytes());
  }

  void describe_backward() {
    const Tensor& query = tokens(queries, heads, width);
    const Tensor& key = tokens_across(keys, width);
    const Tensor& value = tokens_across(keys, value_width);
    const Tensor& result = tokens(queries, heads, value_width);
    const Tensor& result_gradient = tokens(queries, heads, value_width);
    const Tensor& query_gradient = tokens(queries, heads, width);
    const Tensor& key_gradient = tokens(keys, groups, width);
    const Tensor& value_gradient = tokens(keys, groups, value_width);
    const Tensor& statistics = rows();
    const Tensor& row_sums = rows();

    const Tensor& shares = graph.pointwise(CUDNN_POINTWISE_MUL, {&result_gradient, &result});
    const Tensor& unscaled_sums = row_intermediate();
    graph.reduce(CUDNN_REDUCE_TENSOR_ADD, shares, unscaled_sums);
    graph.pointwise(CUDNN_POINTWISE_MUL, {&unscaled_sums, &graph.scalar(1)}, row_sums);

    const Tensor& scores = scaled_scores(query, key);
    const Tensor& below = masked(graph.pointwise(CUDNN_POINTWISE_SUB, {&scores, &statistics}));
    const Tensor& probabilities = graph.pointwise(CUDNN_POINTWISE_EXP, {&below});
    multiply_into(graph.transposed(probabilities, data), result_gradient, value_gradient, value_width);

    const Tensor& outer = graph.multiply(result_gradient, value);
    const Tensor& centred = graph.pointwise(CUDNN_POINTWISE_SUB, {&outer, &row_sums});
    const Tensor& weighted = graph.pointwise(CUDNN_POINTWISE_MUL, {&centred, &probabilities});
    const Tensor& score_gradient = graph.intermediate(steps, weighted.extents, weighted.strides);
    graph.pointwise(CUDNN_POINTWISE_MUL, {&weighted, scale}, score_gradient);
    multiply_into(graph.transposed(score_gradient, data), query, key_gradient, width);

    const Tensor& sum = graph.tensor(CUDNN_DATA_FLOAT, {batch, heads, queries, width},
                                     {heads * queries * width, queries * width, width, 1});
    graph.multiply(score_gradient, graph.transposed(key, steps), sum);
    graph.pointwise(CUDNN_POINTWISE_IDENTITY, {&sum}, query_gradient);

    bindings = {{query.id, &AttentionBuffers::query},
                {key.id, &AttentionBuffers::key},
                {value.id, &AttentionBuffers::value},
                {result_gradient.id, &AttentionBuffers::result_gradient}};
    results = {{result.id, &AttentionBuffers::result},
               {query_gradient.id, &AttentionBuffers::query_gradient},
               {key_gradient.id, &AttentionBuffers::key_gradient},
               {value_gradient.id, &AttentionBuffers::value_gradient}};
    scratch.emplace_back(statistics.id, row_bytes());
    scratch.emplace_back(row_sums.id, row_bytes());
    scratch.emplace_back(sum.id, static_cast<std::size_t>(batch * heads * queries * width) * sizeof(float));
  }

  // With grouped queries, adds up the gradients of a key or value over the heads that share it.
  void multiply_into(const Tensor& a, const Tensor& b, const Tensor& gradient, std::int64_t of_width) {
    if (heads == groups) return graph.multiply(a, b, gradient);
    const Tensor& of_heads = graph.intermediate(data, {batch, heads, keys, of_width},
                                                {heads * keys * of_width, keys * of_width, of_width, 1});
    graph.multiply(a, b, of_heads);
    graph.reduce(CUDNN_REDUCE_TENSOR_ADD, of_heads, gradient);
  }
  std::size_t row_bytes() const { return static_cast<std::size_t>(batch * heads * queries) * sizeof(float); }

  AttentionShape shape;
  cudnnDataType_t data;
  cudnnDataType_t steps;
  std::int64_t batch, heads, groups, queries, keys, width, value_width;
  CudnnGraph graph;
  const Tensor* scale = nullptr;
  std::vector<std::pair<std::int64_t, const void * AttentionBuffers::*>> bindings;
  std::vector<std::pair<std::int64_t, void * AttentionBuffers::*>> results;
  std::vector<std::pair<std::int64_t, std::size_t>> scratch;  // tensors of the kernel alone, and their bytes
  std::vector<DeviceMemory> scratch_memory;
};

CudaAttention::Plan& CudaAttention::plan_of(const AttentionShape& shape, bool backward) {
  std::unique_ptr<Plan>& plan = plans_[{shape.batch, shape.queries, shape.keys, shape.heads, kv_heads(shape),
                                        shape.head_dim, value_dim(shape), shape.causal, backward}];
  if (plan) return *plan;
  if (type_ == ElementType::fp32) refuse(shape, backward, "it is computed in 16 bits");
  if (shape.window > 0) refuse(shape, backward, "windows are not run");
  if (shape.causal && shape.queries != shape.keys) refuse(shape, backward, "causal pieces of a sequence are not run");
  if (!handle_) handle_ = std::make_unique<Handle>();
  // No document says which of two descriptions of the same backward pass the library matches, so both are tried.
  auto made = std::make_unique<Plan>(shape, backward, type_, true);
  bool built = made->graph.build(handle_->handle);
  if (!built && backward) {
    made = std::make_unique<Plan>(shape, backward, type_, false);
    built = made->graph.build(handle_->handle);
  }
  if (!built) refuse(shape, backward, "cuDNN has no kernel for it on this GPU");
  // Statistics that are made up must be numbers that exponentials take.
  for (const auto& [id, bytes] : made->scratch) {
    made->scratch_memory.emplace_back(bytes);
    launch_random(made->scratch_memory.back().data(), bytes / sizeof(float), ElementType::fp32, 1, nullptr);
  }
  // Streams do not wait for what the default stream does.
  check_cuda(cudaDeviceSynchronize(), "fill what attention keeps");
  plan = std::move(made);
  return *plan;
}

void CudaAttention::run(const AttentionShape& shape, bool backward, const AttentionBuffers& buffers,
                        cudaStream_t stream) {
  const Plan& plan = plan_of(shape, backward);
  std::map<std::int64_t, void*> bound;
  for (const auto& [id, member] : plan.bindings) bound[id] = const_cast<void*>(buffers.*member);
  for (const auto& [id, member] : plan.results) bound[id] = buffers.*member;
  for (std::size_t i = 0; i < plan.scratch.size(); ++i) bound[plan.scratch[i].first] = plan.scratch_memory[i].data();
  DeviceMemory& workspace = workspaces_[stream];
  if (workspace.bytes() < plan.graph.workspace_bytes()) {
    check_cuda(cudaStreamSynchronize(stream), "come to rest");
    workspace = DeviceMemory(plan.graph.workspace_bytes());
  }
  check_cudnn(cudnnSetStream(handle_->handle, stream), "choose a stream");
  plan.graph.run(handle_->handle, bound, workspace.data());
}

#else

struct CudaAttention::Handle {};
struct CudaAttention::Plan {};

CudaAttention::Plan& CudaAttention::plan_of(const AttentionShape& shape, bool backward) {
  refuse(shape, backward, "mirfak-measure was built without cuDNN");
}

void CudaAttention::run(const AttentionShape& shape, bool backward, const AttentionBuffers& /*buffers*/,
                        cudaStream_t /*stream*/) {
  plan_of(shape, backward);
}

#endif

CudaAttention::CudaAttention(ElementType type) : type_(type) {}
CudaAttention::~CudaAttention() = default;

void CudaAttention::prepare(const AttentionShape& shape, bool backward) { plan_of(shape, backward); }

}  // namespace mirfak::measure
