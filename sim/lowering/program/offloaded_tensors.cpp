// Megatron Core's fine-grained offloading (core_v0.16.1, pipeline_parallel/fine_grained_activation_offload.py) hooks
// what autograd saves while a module runs: a stream of its own copies it to pinned memory when the module has run, and
// another one copies it back while the backward pass of the module behind it runs. Modules are found by the tags of
// operators, and by what they read: a product behind the core of attention is its projection, and one that reads
// dispatched rows is a first product of experts.

#include "program/offloaded_tensors.hpp"

#include "program/optimizer_offload.hpp"
#include "sharding/row_chunks.hpp"

#include <algorithm>
#include <optional>
#include <string_view>

namespace mirfak {

namespace {

class Modules {
 public:
  explicit Modules(const OperatorGraph& graph) : graph_(graph), tensors_(graph.tensors.size()) {
    for (const Operator& op : graph.operators) {
      if (op.phase == Phase::forward) modules_.push_back(module_of(op));
    }
  }

  // Returns, for each forward operator in the graph's order, its module.
  const std::vector<std::optional<OffloadModule>>& of_operators() const { return modules_; }

 private:
  // Origins of a tensor: it was made from what attention made, or from dispatched rows by casts, sorts and the like.
  struct Origins {
    bool behind_attention = false;
    bool dispatched = false;
  };

  bool has(const Operator& op, std::string_view tag) const {
    const std::optional<Tag> found = graph_.find_tag(tag);
    return found && op.tags.contains(*found);
  }
  Origins& of(TensorId tensor) { return tensors_[static_cast<std::size_t>(tensor)]; }

  std::optional<OffloadModule> module_of(const Operator& op) {
    Origins read;
    for (const Operand& input : op.inputs) {
      read.behind_attention |= of(input.tensor).behind_attention;
      read.dispatched |= of(input.tensor).dispatched;
    }
    const bool core = has(op, "core_attn");
    const bool activation = has(op, "moe_act");
    const bool product = op.kind == OperatorKind::einsum && op.linear;
    const bool passes_rows = !product && !activation;
    for (const Operand& output : op.outputs) {
      of(output.tensor).behind_attention = core || read.behind_attention;
      of(output.tensor).dispatched = op.kind == OperatorKind::dispatch || (read.dispatched && passes_rows);
    }
    if (core) return OffloadModule::core_attention;
    if (activation) return OffloadModule::expert_activation;
    if (product && read.dispatched) return OffloadModule::expert_inputs;
    const bool norm = has(op, "layernorm");
    if (norm && (has(op, "mlp_branch") || has(op, "router_branch"))) return OffloadModule::mlp_norm;
    if (!has(op, "attn_branch")) return std::nullopt;
    if (!read.behind_attention) return norm ? OffloadModule::attention_norm : OffloadModule::attention_inputs;
    return product ? std::optional(OffloadModule::attention_projection) : std::nullopt;
  }

  const OperatorGraph& graph_;
  std::vector<Origins> tensors_;
  std::vector<std::optional<OffloadModule>> modules_;
};

// True if the gradients of an operator read a tensor.
bool needs_again(const Operator& op, TensorId tensor) {
  if (std::find(op.saved.begin(), op.saved.end(), tensor) != op.saved.end()) return true;
  return op.kind == OperatorKind::einsum &&
         std::any_of(op.inputs.begin(), op.inputs.end(), [&](const Operand& input) { return input.tensor == tensor; });
}

}  // namespace

std::vector<TensorId> offloaded_tensors(const Job& job, const PartitionedBlock& block, const DeviceMesh& mesh) {
  std::vector<TensorId> out;
  const ModuleSet& chosen = job.strategy.offload_modules;
  if (chosen.none()) return out;
  const OperatorGraph& graph = block.graph;
  const Modules modules(graph);
  for (const TensorId id : block.kept) {
    const Tensor& tensor = graph.tensor(id);
    if (tensor.role != TensorRole::activation && tensor.role != TensorRole::input) continue;
    const double bytes = bytes_at_once(graph, id, block.shardings[static_cast<std::size_t>(id)], mesh);
    if (bytes < job.framework.offload.module_elements * tensor.bytes_per_element) continue;
    bool needed = false;
    bool elsewhere = false;
    std::size_t place = 0;
    for (const Operator& op : graph.operators) {
      if (op.phase != Phase::forward) continue;
      const std::optional<OffloadModule> module = modules.of_operators()[place++];
      if (!needs_again(op, id)) continue;
      needed = true;
      elsewhere |= !module || !chosen.test(static_cast<std::size_t>(*module));
    }
    if (needed && !elsewhere) out.push_back(id);
  }
  return out;
}

double offloaded_activation_bytes(const Job& job, const PartitionedBlock& block, const DeviceMesh& mesh) {
  double bytes = 0;
  for (const TensorId id : offloaded_tensors(job, block, mesh)) {
    bytes += bytes_at_once(block.graph, id, block.shardings[static_cast<std::size_t>(id)], mesh);
  }
  return bytes;
}

int offloaded_layers(const Job& job, const ChunkPlan& chunk, int first, int count) {
  const int before = first - (chunk.embedding ? 1 : 0);
  if (!chunk.is_layer(first)) return 0;
  return std::clamp(job.strategy.offload_layers - before, 0, count);
}

double copied_activation_bytes(const Job& job, const ShardedBlocks& blocks, const ChunkPlan& chunk) {
  double bytes = 0;
  int first = 0;
  for (const BlockRun& run : chunk.runs) {
    const PartitionedBlock& block = blocks.of(run.block);
    bytes += offloaded_layers(job, chunk, first, run.count) * block.kept_bytes;
    if (job.strategy.offload_modules.any()) {
      bytes += run.count * offloaded_activation_bytes(job, block, blocks.mesh);
    }
    first += run.count;
  }
  return bytes;
}

double wait_for_copies_s(const Job& job, const ShardedBlocks& blocks, const ChunkPlan& chunk, const NodeHardware& node,
                         double device_s) {
  if (job.strategy.offload_layers == 0 && job.strategy.offload_modules.none()) return 0;
  const double copied = host_copy_seconds(copied_activation_bytes(job, blocks, chunk), node);
  return std::max(0.0, copied - device_s);
}

}  // namespace mirfak
