#include "program/memory.hpp"

#include "program/expert_room.hpp"
#include "program/offloaded_tensors.hpp"
#include "program/optimizer_offload.hpp"
#include "program/sharded_state.hpp"
#include "program/unit_memory.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

namespace mirfak {

namespace {

bool in_groups(const Strategy& strategy) {
  return strategy.recompute_method == RecomputeMethod::uniform && strategy.recompute_layers > 1;
}

// A moment of a pass.
struct Moment {
  double activations = -std::numeric_limits<double>::infinity();
  double gathered = 0;
  double missing = 0;  // gradients

  double total() const { return activations + gathered - missing; }
  void raise(const Moment& other) {
    if (other.total() > total()) *this = other;
  }
  PassMemory beside(double kept) const { return {activations - kept, gathered, missing}; }
};

// Walks the blocks of a chunk: accumulates the bytes that the blocks keep, and the most that is needed in addition
// while one of them runs. Backward passes go through the blocks from the last to the first. While one block runs, the
// blocks before it keep everything; the blocks after it, if the backward pass is split, keep the bytes that are due to
// their weights. The former are known during the walk, the latter only after the last block. Gradients that come and go
// behave likewise: while a block runs backward, those of all blocks up to it are missing.
class ChunkWalk {
 public:
  // Adds equal blocks. `kept` of them keep the tensors that their backward passes read; `before` of them do so before
  // the last one runs.
  void add(const BlockMemory& block, int before, int kept, const UnitMemory& unit = {}) {
    const double others = kept_ + before * block.kept;
    gradients_ += unit.gradients;
    forward_.raise({others + block.forward, unit.forward, 0});
    backward_.raise({others + block.backward, unit.backward + unit.reduced, gradients_});
    input_ = std::max(input_, others + block.backward_input + unit.backward - due_ - (before + 1) * block.due);
    input_ = std::max(input_, kept_ + block.backward_input + unit.backward - due_ - block.due);
    weight_ = std::max(weight_, due_ + before * block.due + block.backward_weight + unit.reduced);
    kept_ += kept * block.kept;
    due_ += (before + 1) * block.due;
  }

  // Adds layers in groups of `layers_of_group`; the last group has the remaining layers (megatron/core/recompute.py). A
  // group keeps its input. Its backward pass runs the group forward again, and each layer keeps the tensors that it
  // reads, in addition to the gradient of the group's result. `layers`: recomputed blocks; the block without
  // recomputation follows each of them in `blocks`. `units`: one for each layer, or empty.
  void add_groups(std::span<const BlockMemory> blocks, std::span<const BlockId> layers,
                  std::span<const UnitMemory> units, int layers_of_group) {
    while (!layers.empty()) {
      const auto count = std::min(layers.size(), static_cast<std::size_t>(layers_of_group));
      add_group(blocks, layers.first(count), units.empty() ? units : units.first(count));
      layers = layers.subspan(count);
      if (!units.empty()) units = units.subspan(count);
    }
  }

  void add_on_host(double bytes) { on_host_ += bytes; }
  void add_stashed(double bytes) { stashed_ += bytes; }

  ChunkMemory memory() {
    forward_.raise({kept_, 0, 0});
    forward_.missing = gradients_;
    backward_.raise({kept_, 0, gradients_});
    ChunkMemory out;
    out.kept = kept_;
    out.on_host = on_host_;
    out.stashed = stashed_;
    out.forward = forward_.beside(kept_);
    out.backward = backward_.beside(kept_);
    out.due = due_;
    out.backward_input = {std::max(0.0, input_ + due_ - kept_), 0, 0};
    out.backward_weight = {std::max(0.0, weight_ - due_), 0, 0};
    out.gradients = gradients_;
    return out;
  }

 private:
  void add_group(std::span<const BlockMemory> blocks, std::span<const BlockId> layers,
                 std::span<const UnitMemory> units) {
    const BlockMemory& first = blocks[static_cast<std::size_t>(layers.front())];
    if (layers.size() == 1) return add(first, 0, 1, units.empty() ? UnitMemory() : units.front());
    const double gradient = first.kept;  // as large as the input, which is all that `first` keeps
    const double before = kept_;
    kept_ += first.kept;
    double inside = 0;
    for (std::size_t i = 0; i < layers.size(); ++i) {
      const BlockId layer = layers[i];
      const UnitMemory unit = units.empty() ? UnitMemory() : units[i];
      const BlockMemory& whole = blocks[static_cast<std::size_t>(layer) + 1];
      gradients_ += unit.gradients;
      forward_.raise({kept_ + blocks[static_cast<std::size_t>(layer)].forward, unit.forward, 0});
      backward_.raise({before + inside + std::max(whole.forward + gradient, whole.backward),
                       unit.backward + unit.reduced, gradients_});
      const double runs = std::max(whole.forward + gradient, whole.backward_input) + unit.backward;
      due_ += whole.due;
      input_ = std::max(input_, before + inside + runs - due_);
      weight_ = std::max(weight_, due_ - whole.due + whole.backward_weight + unit.reduced);
      inside += whole.kept;
    }
  }

  double kept_ = 0;
  double on_host_ = 0;
  double stashed_ = 0;
  double due_ = 0;
  double gradients_ = 0;
  Moment forward_;
  Moment backward_;
  double input_ = -std::numeric_limits<double>::infinity();  // without all that is due in the end
  double weight_ = 0;
};

// Bytes of empty gradients. Autograd passes on a weight's gradient. If the product has already added the gradient to
// the gradient buffer, Transformer Engine passes on an empty tensor instead, one for each shape of weight, and keeps it
// (get_dummy_wgrad in transformer_engine/pytorch/module/base.py; Megatron Core's own linear layer takes it from there).
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
  // Those of divided weights are as large as a rank's part of them (GTPShardedParam, get_dummy_wgrad).
  const Strategy& s = job.strategy;
  const int parts =
      job.model.mixture.experts > 0 ? std::min(s.weight_group(), s.expert_weight_group()) : s.weight_group();
  return elements * bytes_per_element(job.precision()) / parts;
}

// Bytes of one activation and one gradient in each direction, for the chunk that exchanges most.
double transfer_buffers(const ShardedBlocks& blocks, const StageContents& stage) {
  double entering = 0;
  double leaving = 0;
  for (const ChunkPlan& chunk : stage.chunks) {
    entering = std::max(entering, blocks.stream_bytes(chunk.entering));
    leaving = std::max(leaving, blocks.stream_bytes(chunk.leaving));
  }
  return 2 * (entering + leaving);
}

// Walks a stage's memory pass by pass.
class StageWalk {
 public:
  // `chunks`: chunks of the stage. `resident`: bytes held in all passes.
  StageWalk(std::span<const ChunkMemory> chunks, const MemoryUse& resident)
      : chunks_(chunks), use_(memory_at_rest(resident, chunks)) {}

  void walk(std::span<const Pass> order, StageMemory& memory) {
    for (std::size_t i = 0; i < order.size(); ++i) {
      const Pass& pass = order[i];
      begin(pass);
      most_on_host_ = std::max(most_on_host_, on_host_);
      MemoryUse now = use_;
      add_pass(now, of(pass), pass.kind);
      const bool pair = pass.with_next;
      if (pair) add_pass(now, of(order[i + 1]), order[i + 1].kind);
      if (now.total() > memory.peak.total()) {
        memory.peak = now;
        memory.passes_in_flight = in_flight_;
      }
      if (pair) end(order[++i]);
      end(pass);
    }
  }

  double most_on_host() const { return most_on_host_; }  // bytes of activations, of the walks so far

 private:
  const ChunkMemory& of(const Pass& pass) const { return chunks_[static_cast<std::size_t>(pass.chunk)]; }

  void begin(const Pass& pass) {
    if (!is_forward(pass.kind)) return;
    use_.activations += of(pass).kept;
    on_host_ += of(pass).on_host;
    ++in_flight_;
  }

  void end(const Pass& pass) {
    if (makes_input_gradient(pass.kind)) {
      use_.activations -= of(pass).kept;
      on_host_ -= of(pass).on_host;
      --in_flight_;
    }
    if (pass.kind == Pass::Kind::backward_input) use_.activations += of(pass).due;
    if (pass.kind == Pass::Kind::backward_weight) use_.activations -= of(pass).due;
    // Two additions, as series over time add these gradients: the sums are equal to the bit.
    if (pass.kind == Pass::Kind::backward) {
      use_.gradients += of(pass).made();
      use_.gradients += of(pass).gradients - of(pass).made();
    }
  }

  std::span<const ChunkMemory> chunks_;
  MemoryUse use_;
  double on_host_ = 0;
  double most_on_host_ = 0;
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

void MemoryRoom::add(const Fullest& memory, double usable) {
  if (memory.needed - usable > shortage) {
    shortage = memory.needed - usable;
    fullest = memory;
  }
  if (memory.needed > 0) free = std::min(free, 1 - memory.needed / memory.capacity);  // without memory: minus infinity
}

void MemoryRoom::add_device(double needed, double platform, double capacity, const MemoryLimit& limit) {
  add({needed, platform, capacity, false}, limit.of_device(capacity, platform));
}

void MemoryRoom::add_host(double needed, double capacity, const MemoryLimit& limit) {
  add({needed, 0, capacity, true}, limit.of_host(capacity));
}

double needed_bytes(const StageMemory& stage, const MemoryLimit& limit) {
  return limit.is_of_probability ? stage.needed() : stage.peak.total();
}

MemoryRoom memory_room(std::span<const StageMemory> stages, const MemoryLimit& limit) {
  MemoryRoom room;
  for (const StageMemory& stage : stages) {
    room.add_device(needed_bytes(stage, limit), stage.peak.platform, stage.capacity, limit);
    room.add_host(stage.host, stage.host_capacity, limit);
  }
  return room;
}

std::vector<BlockMemory> memory_of_blocks(const Job& job, const ShardedBlocks& blocks) {
  std::vector<BlockMemory> out;
  for (const PartitionedBlock& block : blocks.all) {
    out.push_back(block_memory(block, blocks.mesh, job.framework, blocks.halves));
    out.back().on_host = offloaded_activation_bytes(job, block, blocks.mesh);
    out.back().kept -= out.back().on_host;
    const StashedRows rows = stashed_rows(job, block, blocks.mesh);
    out.back().stashed = rows.balanced;
    out.back().buffers = rows.room;
    out.back().kept -= rows.room;
  }
  return out;
}

const PassMemory& ChunkMemory::of(Pass::Kind kind) const {
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

namespace {

// Returns the memory of a block of a chunk in whose layers buffers of `most` bytes hold rows on their way to pages. The
// buffers of one layer exist until the next experts run (paged_stash.py, wait_for_stash_to_complete): also beside
// blocks without such rows.
BlockMemory beside_buffers(const BlockMemory& block, double most) {
  BlockMemory out = block;
  if (block.buffers > 0) return out;
  out.forward += most;
  out.backward += most;
  return out;
}

}  // namespace

ChunkMemory chunk_memory(const Job& job, std::span<const BlockMemory> blocks, const ChunkPlan& chunk, double width) {
  ChunkWalk walk;
  const std::vector<UnitMemory> all_units = unit_memory(job, chunk, width);
  const std::span<const UnitMemory> units = all_units;
  int first = 0;
  int group = 0;  // first of the layers that are not yet in a group
  std::vector<BlockId> layers;
  const auto close_group = [&] {
    const auto at = static_cast<std::size_t>(group);
    walk.add_groups(blocks, layers, units.empty() ? units : units.subspan(at, layers.size()),
                    job.strategy.recompute_layers);
    layers.clear();
  };
  double buffers = 0;
  for (const BlockRun& run : chunk.runs) {
    buffers = std::max(buffers, blocks[static_cast<std::size_t>(run.block)].buffers);
  }
  for (const BlockRun& run : chunk.runs) {
    const BlockMemory block = beside_buffers(blocks[static_cast<std::size_t>(run.block)], buffers);
    const int whole = offloaded_layers(job, chunk, first, run.count);
    walk.add_on_host(whole * block.kept + run.count * block.on_host);
    walk.add_stashed(run.count * block.stashed);
    if (in_groups(job.strategy) && chunk.is_layer(first) && !run.forward_only) {
      if (layers.empty()) group = first;
      layers.insert(layers.end(), static_cast<std::size_t>(run.count), run.block);
    } else {
      close_group();
      if (units.empty()) {
        walk.add(block, run.count - 1 - offloaded_layers(job, chunk, first, run.count - 1), run.count - whole);
      }
      for (int i = 0; i < run.count && !units.empty(); ++i) {
        walk.add(block, 0, 1 - offloaded_layers(job, chunk, first + i, 1), units[static_cast<std::size_t>(first + i)]);
      }
    }
    first += run.count;
  }
  close_group();
  return walk.memory();
}

double most_stashed(std::span<const ChunkMemory> chunks, std::span<const Pass> order) {
  double now = 0;
  double most = 0;
  for (const Pass& pass : order) {
    const double bytes = chunks[static_cast<std::size_t>(pass.chunk)].stashed;
    if (is_forward(pass.kind)) most = std::max(most, now += bytes);
    if (makes_input_gradient(pass.kind)) now -= bytes;
  }
  return most;
}

void add_pass(MemoryUse& use, const ChunkMemory& chunk, Pass::Kind kind) {
  const PassMemory& pass = chunk.of(kind);
  use.workspace += std::max(0.0, pass.workspace);
  use.activations += std::min(0.0, pass.workspace);
  use.gathered += pass.gathered;
  if (kind == Pass::Kind::backward) use.gradients += chunk.made();
}

MemoryUse memory_at_rest(MemoryUse resident, std::span<const ChunkMemory> chunks) {
  for (const ChunkMemory& chunk : chunks) resident.gradients -= chunk.gradients;
  return resident;
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
      chunks.push_back(chunk_memory(own, blocks.stages.empty() ? of_blocks : shaped, chunk,
                                    plan.parameters.gathered_bytes_per_element));
    }
    const double stashed = most_stashed(chunks, plan.order);
    MemoryUse use = resident_memory(own, own_blocks, plan);
    use.activations += own.strategy.expert_stash * stashed;
    StageMemory memory;
    const NodeHardware& hardware = plan.costs.hardware->hardware;
    memory.capacity = hardware.gpu.memory_bytes.value / hardware.spec.ranks_per_gpu;
    memory.host = bytes_on_host(own, plan.parameters);
    memory.disk = bytes_on_disk(own, plan.parameters);
    memory.host_capacity = host_memory_share(hardware.spec);
    StageWalk passes(chunks, use);
    passes.walk(plan.order, memory);
    memory.host += passes.most_on_host() + own.strategy.expert_stash_host * stashed;
    MemoryUse step = use;
    step.workspace = step_workspace(own, plan);
    if (step.total() >= memory.peak.total()) {
      memory.peak = step;
      memory.passes_in_flight = 0;
    }
    out.push_back(memory);
  }
  return out;
}

}  // namespace mirfak
