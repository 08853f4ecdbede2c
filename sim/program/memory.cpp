#include "program/memory.hpp"

#include "program/optimizer_offload.hpp"
#include "program/sharded_state.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

namespace mirfak {

namespace {

// Layers of the chunk from `first` on whose kept activations wait in the host's memory: the first of the model's.
int offloaded(const Job& job, const ChunkPlan& chunk, int first, int count) {
  const int before = first - (chunk.embedding ? 1 : 0);
  if (!chunk.is_layer(first)) return 0;
  return std::clamp(job.strategy.offload_layers - before, 0, count);
}

bool in_groups(const Strategy& strategy) {
  return strategy.recompute_method == RecomputeMethod::uniform && strategy.recompute_layers > 1;
}

// What the blocks of a chunk keep so far, and the most there is beside while one of them runs. Backward passes go
// through the blocks from the last to the first: while one runs, those before it keep all and those behind it, where a
// backward pass is split, what is due to their weights. The former is known here, the latter once the last block is.
class ChunkWalk {
 public:
  // Equal blocks of which `kept` keep what their backward passes read; `before` the last of them runs, so many do.
  void add(const BlockMemory& block, int before, int kept) {
    const double others = kept_ + before * block.kept;
    forward_ = std::max(forward_, others + block.forward);
    backward_ = std::max(backward_, others + block.backward);
    input_ = std::max(input_, others + block.backward_input - due_ - (before + 1) * block.due);
    input_ = std::max(input_, kept_ + block.backward_input - due_ - block.due);
    weight_ = std::max(weight_, due_ + before * block.due + block.backward_weight);
    kept_ += kept * block.kept;
    due_ += (before + 1) * block.due;
  }

  // Layers in groups of so many, the last of what is left (megatron/core/recompute.py). A group keeps its input; its
  // backward pass runs it forward again, each layer keeping what it reads, beside the gradient of the group's result.
  // `layers`: recomputed blocks, behind each of which stands the one that is not.
  void add_groups(std::span<const BlockMemory> blocks, std::span<const BlockId> layers, int layers_of_group) {
    while (!layers.empty()) {
      const auto count = std::min(layers.size(), static_cast<std::size_t>(layers_of_group));
      add_group(blocks, layers.first(count));
      layers = layers.subspan(count);
    }
  }

  ChunkMemory memory() const {
    ChunkMemory out;
    out.kept = kept_;
    out.forward = std::max(0.0, forward_ - kept_);
    out.backward = std::max(0.0, backward_ - kept_);
    out.due = due_;
    out.backward_input = std::max(0.0, input_ + due_ - kept_);
    out.backward_weight = std::max(0.0, weight_ - due_);
    return out;
  }

 private:
  void add_group(std::span<const BlockMemory> blocks, std::span<const BlockId> layers) {
    const BlockMemory& first = blocks[static_cast<std::size_t>(layers.front())];
    if (layers.size() == 1) return add(first, 0, 1);
    const double gradient = first.kept;  // as large as the input, which is all that `first` keeps
    const double before = kept_;
    kept_ += first.kept;
    double inside = 0;
    for (const BlockId layer : layers) {
      const BlockMemory& whole = blocks[static_cast<std::size_t>(layer) + 1];
      forward_ = std::max(forward_, kept_ + blocks[static_cast<std::size_t>(layer)].forward);
      backward_ = std::max(backward_, before + inside + std::max(whole.forward + gradient, whole.backward));
      const double runs = std::max(whole.forward + gradient, whole.backward_input);
      due_ += whole.due;
      input_ = std::max(input_, before + inside + runs - due_);
      weight_ = std::max(weight_, due_ - whole.due + whole.backward_weight);
      inside += whole.kept;
    }
  }

  double kept_ = 0;
  double due_ = 0;
  double forward_ = 0;
  double backward_ = 0;
  double input_ = -std::numeric_limits<double>::infinity();  // less all that is due in the end
  double weight_ = 0;
};

// Autograd hands on a weight's gradient. Where the product has added it to the gradient buffer already, Transformer
// Engine hands on an empty tensor in its stead, one for each shape of weight, and keeps it (get_dummy_wgrad in
// transformer_engine/pytorch/module/base.py; Megatron Core's own linear layer takes it from there).
double stand_ins(const Job& job, const ShardedBlocks& blocks, const StageContents& stage) {
  if (!job.framework.fusion.gradient_accumulation) return 0;
  std::set<std::pair<double, double>> shapes;
  for (const ChunkPlan& chunk : stage.chunks) {
    for (const BlockRun& run : chunk.runs) {
      const auto& of_block = blocks.weight_gradients[static_cast<std::size_t>(run.block)];
      shapes.insert(of_block.begin(), of_block.end());
    }
  }
  double elements = 0;
  for (const auto& [rows, columns] : shapes) elements += rows * columns;
  return elements * bytes_per_element(job.precision());
}

// One activation and one gradient each way, of the chunk that exchanges most.
double transfer_buffers(const ShardedBlocks& blocks, const StageContents& stage) {
  double entering = 0;
  double leaving = 0;
  for (const ChunkPlan& chunk : stage.chunks) {
    entering = std::max(entering, blocks.stream_bytes(chunk.entering));
    leaving = std::max(leaving, blocks.stream_bytes(chunk.leaving));
  }
  return 2 * (entering + leaving);
}

// A stage's memory pass by pass.
class PassMemory {
 public:
  // `chunks`: of the stage. `resident`: whatever it runs.
  PassMemory(std::span<const ChunkMemory> chunks, const MemoryUse& resident) : chunks_(chunks), use_(resident) {}

  void walk(std::span<const Pass> order, StageMemory& memory) {
    for (std::size_t i = 0; i < order.size(); ++i) {
      const Pass& pass = order[i];
      begin(pass);
      use_.workspace = of(pass).workspace(pass.kind);
      const bool pair = pass.with_next;
      if (pair) use_.workspace += of(order[i + 1]).workspace(order[i + 1].kind);
      if (use_.total() > memory.peak.total()) {
        memory.peak = use_;
        memory.passes_in_flight = in_flight_;
      }
      if (pair) end(order[++i]);
      end(pass);
    }
  }

 private:
  const ChunkMemory& of(const Pass& pass) const { return chunks_[static_cast<std::size_t>(pass.chunk)]; }

  void begin(const Pass& pass) {
    if (!is_forward(pass.kind)) return;
    use_.activations += of(pass).kept;
    ++in_flight_;
  }

  void end(const Pass& pass) {
    if (makes_input_gradient(pass.kind)) {
      use_.activations -= of(pass).kept;
      --in_flight_;
    }
    if (pass.kind == Pass::Kind::backward_input) use_.activations += of(pass).due;
    if (pass.kind == Pass::Kind::backward_weight) use_.activations -= of(pass).due;
  }

  std::span<const ChunkMemory> chunks_;
  MemoryUse use_;
  int in_flight_ = 0;
};

}  // namespace

std::span<const MemoryPart> memory_parts() {
  static constexpr std::array<MemoryPart, 8> parts = {{
      {"parameters", &MemoryUse::parameters},
      {"gradients", &MemoryUse::gradients},
      {"optimizer", &MemoryUse::optimizer},
      {"activations", &MemoryUse::activations},
      {"workspace", &MemoryUse::workspace},
      {"gathered", &MemoryUse::gathered},
      {"communication", &MemoryUse::communication},
      {"platform", &MemoryUse::platform},
  }};
  return parts;
}

void MemoryRoom::add(double needed, double capacity, double headroom) {
  shortage = std::max(shortage, needed - usable_bytes(capacity, headroom));
  if (needed > 0) free = std::min(free, 1 - needed / capacity);  // of no memory: minus infinity
}

MemoryRoom memory_room(std::span<const StageMemory> stages, double headroom) {
  MemoryRoom room;
  for (const StageMemory& stage : stages) {
    room.add(stage.peak.total(), stage.capacity, headroom);
    room.add(stage.host, stage.host_capacity, headroom);
  }
  return room;
}

std::vector<BlockMemory> memory_of_blocks(const Job& job, const ShardedBlocks& blocks) {
  const DeviceMesh mesh = mesh_of(job.strategy);
  std::vector<BlockMemory> out;
  const double loss_copies = job.framework.memory.loss_copy_bytes;
  for (const PartitionedBlock& block : blocks.all) out.push_back(block_memory(block, mesh, blocks.halves, loss_copies));
  return out;
}

double ChunkMemory::workspace(Pass::Kind kind) const {
  switch (kind) {
    case Pass::Kind::forward:
      return forward;
    case Pass::Kind::backward_input:
      return backward_input;
    case Pass::Kind::backward_weight:
      return backward_weight;
    case Pass::Kind::backward:
      break;
  }
  return backward;
}

ChunkMemory chunk_memory(const Job& job, std::span<const BlockMemory> blocks, const ChunkPlan& chunk) {
  ChunkWalk walk;
  int first = 0;
  std::vector<BlockId> layers;
  for (const BlockRun& run : chunk.runs) {
    const bool layer = chunk.is_layer(first);
    if (in_groups(job.strategy) && layer) {
      layers.insert(layers.end(), static_cast<std::size_t>(run.count), run.block);
    } else {
      walk.add_groups(blocks, layers, job.strategy.recompute_layers);
      layers.clear();
      walk.add(blocks[static_cast<std::size_t>(run.block)], run.count - 1 - offloaded(job, chunk, first, run.count - 1),
               run.count - offloaded(job, chunk, first, run.count));
    }
    first += run.count;
  }
  walk.add_groups(blocks, layers, job.strategy.recompute_layers);
  return walk.memory();
}

MemoryUse resident_memory(const Job& job, const ShardedBlocks& blocks, const StageContents& stage) {
  MemoryUse use = sharded_state(job, stage);
  use.gradients += stand_ins(job, blocks, stage);
  use.communication = job.strategy.pipeline > 1 ? transfer_buffers(blocks, stage) : 0;
  use.platform = job.framework.memory.platform_bytes;
  return use;
}

std::vector<StageMemory> account_memory(const Job& job, const ShardedBlocks& blocks,
                                        std::span<const StagePlan> stages) {
  return account_memory(job, blocks, stages, memory_of_blocks(job, blocks));
}

std::vector<StageMemory> account_memory(const Job& job, const ShardedBlocks& blocks, std::span<const StagePlan> stages,
                                        std::span<const BlockMemory> of_blocks) {
  std::vector<StageMemory> out;
  for (const StagePlan& plan : stages) {
    const Job& own = job_at(job, blocks, plan.stage);
    const ShardedBlocks& own_blocks = blocks.at(plan.stage);
    const std::vector<BlockMemory> shaped =
        blocks.stages.empty() ? std::vector<BlockMemory>() : memory_of_blocks(own, own_blocks);
    std::vector<ChunkMemory> chunks;
    for (const ChunkPlan& chunk : plan.chunks) {
      chunks.push_back(chunk_memory(own, blocks.stages.empty() ? of_blocks : shaped, chunk));
    }
    const MemoryUse use = resident_memory(own, own_blocks, plan);
    StageMemory memory;
    const NodeHardware& hardware = plan.costs.hardware->hardware;
    memory.capacity = hardware.gpu.memory_bytes.value / hardware.spec.ranks_per_gpu;
    memory.host = offloaded_bytes(own, plan.parameters.held());
    memory.host_capacity = host_memory_share(hardware.spec);
    memory.peak = use;
    memory.peak.workspace = step_workspace(own, plan);
    PassMemory passes(chunks, use);
    passes.walk(plan.order, memory);
    out.push_back(memory);
  }
  return out;
}

}  // namespace mirfak
