#include "program/sharded_model.hpp"

#include "base/text.hpp"
#include "block/measures.hpp"
#include "cost/collective_model.hpp"
#include "cost/kernel_model.hpp"
#include "sharding/halo.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

namespace mirfak {

namespace {

TensorId find_tensor(const OperatorGraph& graph, std::string_view name) {
  for (std::size_t id = 0; id < graph.tensors.size(); ++id) {
    if (graph.tensors[id].name == name) return static_cast<TensorId>(id);
  }
  return -1;
}

std::vector<std::string> inputs_of(const NamedBlock& block) {
  std::vector<std::string> out;
  for (const Tensor& tensor : block.graph.tensors) {
    if (tensor.role == TensorRole::input) out.push_back(fmt::format("'{}.{}'", block.name, tensor.name));
  }
  return out;
}

[[noreturn]] void refuse_tensor(const AnnotationText& text, const std::vector<NamedBlock>& blocks) {
  std::vector<std::string> names;
  std::vector<std::string> qualified;
  for (const NamedBlock& block : blocks) {
    for (const Tensor& tensor : block.graph.tensors) {
      names.push_back(tensor.name);
      qualified.push_back(block.name + "." + tensor.name);
    }
  }
  std::string near = nearest(text.tensor, qualified);
  if (near.empty()) near = nearest(text.tensor, names);
  fail_input({fmt::format("--annotate '{}'", excerpt(text.text)), 1, 1},
             fmt::format("no block has a tensor '{}'", excerpt(text.tensor)),
             near.empty() ? fmt::format("the input tensors are {}; without annotations all tensors are printed",
                                        fmt::join(inputs_of(blocks.front()), ", "))
                          : fmt::format("did you mean '{}'?", near));
}

// Annotations of each block's tensors.
std::vector<std::vector<Annotation>> annotations_by_block(const std::vector<NamedBlock>& blocks, const DeviceMesh& mesh,
                                                          std::span<const AnnotationText> texts) {
  std::vector<std::vector<Annotation>> out(blocks.size());
  for (const AnnotationText& text : texts) {
    bool found = false;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      std::string_view name = text.tensor;
      const bool qualified = name.starts_with(blocks[i].name + ".");
      TensorId tensor = find_tensor(blocks[i].graph, name);
      if (tensor < 0 && qualified) tensor = find_tensor(blocks[i].graph, name.substr(blocks[i].name.size() + 1));
      if (tensor < 0) continue;
      out[i].push_back(annotation_of(text, blocks[i].graph, tensor, mesh));
      found = true;
    }
    if (!found) refuse_tensor(text, blocks);
  }
  return out;
}

// FLOPs of a kernel without sharding, multiplied by `share` for each of its labels.
double scaled_flop(const OperatorGraph& graph, const BlockStep& step, const std::function<double(Axis)>& share) {
  const Operator& op = graph.op(step.op);
  double flop = block::flop(graph, op);
  if (flop == 0) return 0;
  AxisSet seen;
  for (const std::vector<Operand>* operands : {&op.inputs, &op.outputs}) {
    for (const Operand& operand : *operands) {
      for (std::size_t i = 0; i < operand.labels.size(); ++i) {
        const Axis label = dividing_label(operand, i);
        if (seen.contains(label)) continue;
        seen.insert(label);
        flop *= share(label);
      }
    }
  }
  return flop;
}

void count_flop(ShardedBlock& out, const DeviceMesh& mesh) {
  const auto add = [&](const std::vector<BlockStep>& steps, double& sum) {
    for (const BlockStep& step : steps) {
      if (step.kind != BlockStep::Kind::kernel) continue;
      const double flop = local_flop(out.block.graph, step);
      sum += flop;
      out.padding_flop += flop - scaled_flop(out.block.graph, step, [&](Axis label) {
                            return 1 / static_cast<double>(mesh.size(step.labels[index_of(label)]));
                          });
    }
  };
  add(out.block.forward, out.forward_flop);
  add(out.block.backward, out.backward_flop);
}

Precision precision_of(const GpuSpec& gpu) {
  return gpu.peak_flops.contains(Precision::bf16) ? Precision::bf16 : Precision::fp16;
}

// Prices steps on the devices of a cluster, with the groups of the mesh's first device.
class StepPricer {
 public:
  StepPricer(const Cluster& cluster, const DeviceMesh& mesh)
      : cluster_(cluster),
        mesh_(mesh),
        hardware_(cluster.groups().front().hardware),
        kernels_(hardware_.gpu, precision_of(hardware_.gpu)),
        communication_(hardware_, cluster.fabric()) {}

  ShardedTime price(const PartitionedBlock& block, const std::vector<BlockStep>& steps) const {
    ShardedTime out;
    for (const BlockStep& step : steps) {
      if (step.kind == BlockStep::Kind::kernel) {
        out.kernels_s += kernels_.price(block, step).seconds;
      } else {
        out.collectives_s += communication_.price(step.collective, step.bytes, group_over(step.over)).seconds;
      }
    }
    return out;
  }

 private:
  CommunicationGroup group_over(MeshAxisSet axes) const {
    std::vector<int> devices = {0};
    int stride = 1;
    for (std::size_t place = mesh_.rank(); place-- > 0;) {
      const auto axis = static_cast<MeshAxis>(place);
      const int size = mesh_.size(axis);
      if (axes.contains(axis)) {
        const std::vector<int> before = devices;
        for (int i = 1; i < size; ++i) {
          for (const int device : before) devices.push_back(device + i * stride);
        }
      }
      stride *= size;
    }
    std::sort(devices.begin(), devices.end());
    return communication_group(cluster_, devices);
  }

  const Cluster& cluster_;
  const DeviceMesh& mesh_;
  const NodeHardware& hardware_;
  KernelModel kernels_;
  CollectiveModel communication_;
};

// A tensor's whole sharding as an annotation.
Annotation as_it_lies(TensorId tensor, const Sharding& sharding) {
  Annotation out;
  out.tensor = tensor;
  for (const MeshAxisSet axes : sharding.axes) out.axes.push_back(axes);
  return out;
}

bool says_of(const std::vector<Annotation>& annotations, TensorId tensor) {
  return std::any_of(annotations.begin(), annotations.end(),
                     [tensor](const Annotation& annotation) { return annotation.tensor == tensor; });
}

// True if one block can hand its stream to another: both streams have the same axes.
bool same_axes(const OperatorGraph& a, TensorId left, const OperatorGraph& b, TensorId entering) {
  const AxisLabels& of_left = a.tensor(left).axes;
  const AxisLabels& of_entering = b.tensor(entering).axes;
  return std::equal(of_left.begin(), of_left.end(), of_entering.begin(), of_entering.end(), [&](Axis one, Axis other) {
    return a.info(one).name == b.info(other).name && a.extent(one) == b.extent(other);
  });
}

// Plans a block that follows another block; nullptr: it is the first.
ShardingPlan plan_behind(const ShardedBlock* before, const OperatorGraph& graph, const DeviceMesh& mesh,
                         std::vector<Annotation> annotations) {
  const TensorId entering = graph.inputs.empty() ? -1 : graph.inputs.front();
  if (before != nullptr && entering >= 0 && !before->block.graph.outputs.empty() && !says_of(annotations, entering)) {
    const TensorId left = before->block.graph.outputs.front();
    if (same_axes(before->block.graph, left, graph, entering)) {
      annotations.push_back(as_it_lies(entering, before->block.shardings[static_cast<std::size_t>(left)]));
    }
  }
  ShardingPlan plan = complete(graph, mesh, annotations);
  if (entering < 0 || graph.outputs.empty() || says_of(annotations, graph.outputs.front())) return plan;
  const TensorId leaving = graph.outputs.front();
  const Sharding& entered = plan.tensors[static_cast<std::size_t>(entering)];
  if (!same_axes(graph, entering, graph, leaving) || entered == plan.tensors[static_cast<std::size_t>(leaving)]) {
    return plan;
  }
  annotations.push_back(as_it_lies(leaving, entered));
  return complete(graph, mesh, annotations);
}

void add_entry(const ShardedBlock& before, ShardedBlock& block, const DeviceMesh& mesh) {
  const OperatorGraph& graph = block.block.graph;
  if (before.block.graph.outputs.empty() || graph.inputs.empty()) return;
  const TensorId left = before.block.graph.outputs.front();
  const TensorId entering = graph.inputs.front();
  if (!same_axes(before.block.graph, left, graph, entering)) return;
  const Sharding& from = before.block.shardings[static_cast<std::size_t>(left)];
  const Sharding& to = block.block.shardings[static_cast<std::size_t>(entering)];
  for (const bool back : {false, true}) {
    const Phase phase = back ? Phase::activation_gradient : Phase::forward;
    for (const ReshardStep& step :
         reshard(graph, entering, back ? to : from, back ? from : to, mesh, ReshardOrder::cheapest)) {
      block.entry.push_back(collective_step(step, 0, phase, entering));
    }
  }
}

}  // namespace

double local_flop(const OperatorGraph& graph, const BlockStep& step) {
  return scaled_flop(graph, step, [&](Axis label) {
    return static_cast<double>(step.local[index_of(label)]) / static_cast<double>(graph.extent(label));
  });
}

ShardedModel shard_model(std::vector<NamedBlock> blocks, const DeviceMesh& mesh, std::span<const AnnotationText> texts,
                         const std::optional<Cluster>& cluster) {
  if (cluster && mesh.devices() > cluster->gpus()) {
    fail_infeasible({}, fmt::format("the mesh has {} devices, the nodes {} GPUs", mesh.devices(), cluster->gpus()),
                    "make the mesh smaller, or state more nodes");
  }
  ShardedModel out;
  out.mesh = mesh;
  std::vector<std::vector<Annotation>> annotations = annotations_by_block(blocks, mesh, texts);
  std::optional<StepPricer> pricer;
  if (cluster) pricer.emplace(*cluster, mesh);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    ShardedBlock added;
    added.name = blocks[i].name;
    added.count = blocks[i].count;
    added.annotations = std::move(annotations[i]);
    const ShardedBlock* const before = out.blocks.empty() ? nullptr : &out.blocks.back();
    const ShardingPlan plan = plan_behind(before, blocks[i].graph, mesh, added.annotations);
    added.block = partition(std::move(blocks[i].graph), mesh, plan, {}, {}, GradientSums::before_reducing);
    added.update = weight_update(added.block, mesh);
    if (before != nullptr) add_entry(*before, added, mesh);
    added.memory = block_memory(added.block, mesh, Framework());
    count_flop(added, mesh);
    if (pricer) {
      added.time.emplace();
      for (const auto* steps :
           {&added.block.forward, &added.block.backward, &added.update.reductions, &added.update.gathers}) {
        const ShardedTime time = pricer->price(added.block, *steps);
        added.time->kernels_s += time.kernels_s;
        added.time->collectives_s += time.collectives_s;
      }
      added.time->entry_s = pricer->price(added.block, added.entry).collectives_s;
    }
    out.blocks.push_back(std::move(added));
  }
  return out;
}

namespace {

// Sums over all blocks, each multiplied by its count in the model.
template <typename Part>
double sum_over(const std::vector<ShardedBlock>& blocks, const Part& part) {
  double sum = 0;
  for (const ShardedBlock& block : blocks) sum += block.count * part(block);
  return sum;
}

}  // namespace

double ShardedModel::flop() const {
  return sum_over(blocks, [](const ShardedBlock& block) { return block.forward_flop + block.backward_flop; });
}

double ShardedModel::padding_flop() const {
  return sum_over(blocks, [](const ShardedBlock& block) { return block.padding_flop; });
}

double ShardedModel::parameter_bytes() const {
  return sum_over(blocks, [](const ShardedBlock& block) { return block.block.parameter_bytes; });
}

double ShardedModel::gradient_bytes() const {
  return sum_over(blocks, [](const ShardedBlock& block) { return block.update.gradient_bytes; });
}

double ShardedModel::state_elements() const {
  return sum_over(blocks, [](const ShardedBlock& block) { return block.update.state_elements; });
}

double ShardedModel::memory_bytes() const {
  double kept = 0;
  double beside = 0;
  for (const ShardedBlock& block : blocks) {
    kept += block.count * block.memory.kept;
    beside = std::max(beside, std::max(block.memory.forward, block.memory.backward) - block.memory.kept);
  }
  return parameter_bytes() + gradient_bytes() + kept + beside;
}

std::optional<double> ShardedModel::time_s() const {
  double sum = 0;
  for (const ShardedBlock& block : blocks) {
    if (!block.time) return std::nullopt;
    sum += block.count * (block.time->kernels_s + block.time->collectives_s) + block.time->entry_s;
  }
  return sum;
}

}  // namespace mirfak
